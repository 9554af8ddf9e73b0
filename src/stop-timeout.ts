import type { Config } from './config/schema.ts'

/** How long svc waits for requests after SIGTERM, and how long at least after draining, in milliseconds. */
const grace = 9_000
const graceAfterDrain = 4_000

/** How long a process may take to stop, in milliseconds. */
export const stopTimeout = ({ server }: Config): number => Math.max(grace, server.drain + graceAfterDrain)
