import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Config } from '../config/schema.ts'

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}

/** Returns the CPU limits of the control groups of this process. Node itself does not find them in every container. */
function cpuLimits(): number[] {
  // Lines such as `0::/path` (version 2) and `4:cpu,cpuacct:/path`. A container often has its own group as the root.
  const paths = [
    '',
    ...[...textOf('/proc/self/cgroup').matchAll(/^\d+:(?:|.*\bcpu\b.*):(\/.*)$/gm)].map(([, path]) => path),
  ]
  const limits = paths.flatMap((path) => {
    const [quota, period] = textOf(`/sys/fs/cgroup${path}/cpu.max`).split(' ')
    const first = `/sys/fs/cgroup/cpu${path}`
    return [
      Number(quota) / Number(period),
      Number(textOf(`${first}/cpu.cfs_quota_us`)) / Number(textOf(`${first}/cpu.cfs_period_us`)),
    ]
  })
  // `max` and -1 mean no limit.
  return limits.filter((limit) => limit > 0)
}

/** Number of processes that serve requests. `auto` follows the CPU limit of the container. */
export function workerCount({ server, database }: Pick<Config, 'server' | 'database'>): number {
  if (server.workers !== 'auto') return server.workers
  if (database.engine === 'sqlite') return 1
  return Math.max(1, Math.floor(Math.min(availableParallelism(), ...cpuLimits())))
}

/** What limits of a process depend on. */
type Workers = { count: number } | null

const share = (whole: number, workers: Workers, minimum: number): number =>
  workers ? Math.max(minimum, Math.ceil(whole / workers.count)) : whole

/** Connections of one process to PostgreSQL, for transactions and for lookups. */
export const transactionConnections = (workers: Workers): number => share(10, workers, 4)
export const lookupConnections = (workers: Workers): number => share(4, workers, 2)

/** Hashing threads of one process. A single process leaves one core for other work. */
export const hashingThreads = (workers: Workers): number =>
  workers ? Math.max(1, Math.floor(availableParallelism() / workers.count)) : Math.max(1, availableParallelism() - 1)
