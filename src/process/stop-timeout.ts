import type { Config } from '../platform/config/schema.ts'

/** How long svc waits for requests after SIGTERM, and how long at least after draining, in milliseconds. */
const grace = 9_000
const graceAfterDrain = 4_000

/** How long before the end svc rejects passwords that wait for a hashing thread, and all others, in milliseconds. */
const [lastChecks, lastAnswers] = [3_000, 1_000]

/** How long svc waits for background work, which can run again after the next start, in milliseconds. */
export const backgroundTimeout = 1_000

/** How long a process may take to stop, in milliseconds. */
export const stopTimeout = ({ server }: Config): number => Math.max(grace, server.drain + graceAfterDrain)

/** The log line at the end; `begin` is a time of `performance.now()`. */
export function stopped(begin: number): [object, string] {
  const ms = Math.round(performance.now() - begin)
  return [{ ms }, `svc has stopped after ${(ms / 1000).toFixed(1)} s`]
}

/** When a stopping process rejects passwords that wait for a hashing thread, in milliseconds after SIGTERM. */
export const refuseWaitingAfter = (config: Config): number => stopTimeout(config) - lastChecks

/** When a stopping process rejects all passwords, also in milliseconds after SIGTERM. */
export const refuseAllAfter = (config: Config): number => stopTimeout(config) - lastAnswers
