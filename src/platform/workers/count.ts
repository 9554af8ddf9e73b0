import { availableParallelism } from 'node:os'
import type { Config } from '../config/schema.ts'
import { cpuLimits } from './cpu-limits.ts'

/** Whole CPUs that this process may use: the lowest of the machine, its CPU affinity and the limits of its container. */
const cpuCount = (limits: readonly number[]): number =>
  Math.max(1, Math.floor(Math.min(availableParallelism(), ...limits)))

/** Number of processes that serve requests. `auto` follows the CPU limit of the container. */
export function workerCount(
  { server, database }: Pick<Config, 'server' | 'database'>,
  limits: readonly number[] = cpuLimits(),
): number {
  if (server.workers !== 'auto') return server.workers
  return database.engine === 'sqlite' ? 1 : cpuCount(limits)
}

/** What limits of a process depend on. */
type Workers = { count: number } | null

const share = (whole: number, workers: Workers, minimum: number): number =>
  workers ? Math.max(minimum, Math.ceil(whole / workers.count)) : whole

/** Connections of one process to PostgreSQL, for transactions and for lookups. */
export const transactionConnections = (workers: Workers): number => share(10, workers, 4)
export const lookupConnections = (workers: Workers): number => share(4, workers, 2)

/** Hashing threads of one process. A single process leaves one CPU for other work. */
export function hashingThreads(workers: Workers, limits: readonly number[] = cpuLimits()): number {
  const cpus = cpuCount(limits)
  return Math.max(1, workers ? Math.floor(cpus / workers.count) : cpus - 1)
}
