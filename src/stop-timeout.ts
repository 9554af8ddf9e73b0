import type { Config } from './config/schema.ts'

/** How long requests may take to finish after SIGTERM, in milliseconds, and the remainder after draining. */
const grace = 9_000
const graceAfterDrain = 4_000

/** How long a process may take to stop, in milliseconds. */
export const stopTimeout = ({ server }: Config): number => Math.max(grace, server.drain + graceAfterDrain)
