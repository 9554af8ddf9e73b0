import type { Config } from './config/schema.ts'

/** How long svc waits for requests after SIGTERM, and how long at least after draining, in milliseconds. */
const grace = 9_000
const graceAfterDrain = 4_000

/** How long before the end svc rejects passwords that still wait for a hashing thread, in milliseconds. */
const lastAnswers = 3_000

/** How long a process may take to stop, in milliseconds. */
export const stopTimeout = ({ server }: Config): number => Math.max(grace, server.drain + graceAfterDrain)

/** When a stopping process rejects passwords that wait for a hashing thread, in milliseconds after SIGTERM. */
export const refuseWaitingAfter = (config: Config): number => stopTimeout(config) - lastAnswers
