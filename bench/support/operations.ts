import { setTimeout as sleep } from 'node:timers/promises'
import { argon2Alone } from './argon2.ts'
import type { Bench } from './bench.ts'
import { Load, type LoadFigures, type NextRequest } from './load.ts'
import { processorTime, type Running, residentMemory, watchMemory } from './processes.ts'
import { bearerRequests, loginRequests, sessionLoginRequests, sessionRequests } from './requests.ts'
import { type Amounts, settlePostgresql } from './rows.ts'

/** A sample of one side of a comparison. */
export interface Sample extends LoadFigures {
  /** Processor time of the server per request in microseconds, all threads. */
  processor: number
  /** The maximum memory of the server, in MB. */
  memory: number
  /** Processor time of PostgreSQL per request in microseconds, if it was measured. */
  database?: number
  /** Concurrent logins per second. */
  logins?: number
}

/** Takes a sample of this many seconds. */
export type Sampler = (seconds: number) => Promise<Sample>

/** The two sides of a comparison. Samples alternate. */
export interface Sides {
  base: Sampler
  op: Sampler
  /** The process that `op` measures. */
  server: Running
  stop(): Promise<void>
}

/** Compares two rates in the same run. */
export interface Comparison {
  name: string
  title: string
  /** The base of the ratio. */
  to: string
  /** The minimum ratio; null for a comparison that only informs. */
  target: number | null
  /** The maximum ratio of the 99th percentiles, if there is a target. */
  p99Target?: number
  /**
   * The number of workers that `op` runs. The load generator and PostgreSQL share the cores of the machine, so the ratio is
   * computed for a machine with a core for each worker: the inverse ratio of the processor times, times the workers.
   */
  workers?: number
  prepare(bench: Bench): Promise<Sides>
}

/** Requests to send, or what a load of operations with several requests needs. */
export type LoadRequests = readonly Buffer[] | NextRequest | { next: NextRequest; steps: number }

const usual: Amounts = { users: 10_000, tokens: 100_000, sessions: 10_000 }
const bare = 'bare Fastify route'

/** Seconds of load before a server's first sample, and before each sample. */
export const warmUp = 3
const rampUp = 0.5
/** Connections that log in: several for each hashing thread, so that the pool always has work waiting. */
const loginConnections = 16

export const databaseOf = (bench: Bench) => bench.database('svc', usual)

export function sampler(
  bench: Bench,
  server: Running,
  requests: LoadRequests,
  connections = bench.options.connections,
  databasePid?: number,
): Sampler {
  const sent = 'next' in requests ? { requests: requests.next, steps: requests.steps } : { requests }
  return async (seconds) => {
    const load = new Load({ port: server.port, ...sent, connections })
    await load.start()
    await sleep(rampUp * 1000)
    const memory = watchMemory(server.pid)
    const pids = databasePid === undefined ? [server.pid] : [server.pid, databasePid]
    const before = pids.map(processorTime)
    // If the load fails, the benchmark stops the server. Its error should name the load, not the missing server.
    const figures = await load.measure(seconds).finally(memory)
    const [processor = 0, database] = pids.map(
      (pid, i) => (processorTime(pid) - (before[i] ?? 0)) / (figures.rate * seconds),
    )
    await load.stop()
    return { ...figures, processor, memory: memory(), ...(database === undefined ? {} : { database }) }
  }
}

/** The same with as many concurrent logins as the server can process. */
function besideLogins(server: Running, sample: Sampler): Sampler {
  const requests = loginRequests(usual.users)
  return async (seconds) => {
    const logins = new Load({ port: server.port, requests, connections: loginConnections })
    await logins.start()
    await sleep(500)
    const [found, { rate }] = await Promise.all([sample(seconds), logins.measure(seconds + rampUp)])
    await logins.stop()
    return { ...found, logins: rate }
  }
}

/** `bareRequests` are the requests for the bare route, if it cannot take the same ones. */
export async function againstBare(
  bench: Bench,
  server: Running,
  requests: LoadRequests,
  bareRequests = requests,
): Promise<Sides> {
  const bareServer = await bench.startBare()
  const base = sampler(bench, bareServer, bareRequests)
  const op = sampler(bench, server, requests)
  await base(warmUp)
  await op(warmUp)
  const stop = async () => {
    await Promise.all([server.stop(), bareServer.stop()])
  }
  return { base, op, server, stop }
}

/** The comparisons of the guard and of logins, in the order of the report. */
export const comparisons: readonly Comparison[] = [
  {
    name: 'bearer-postgresql',
    title: 'Bearer check, PostgreSQL',
    to: bare,
    target: 0.55,
    async prepare(bench) {
      const url = await databaseOf(bench)
      await settlePostgresql(url, 1)
      return againstBare(bench, await bench.startSvc(url), bearerRequests(usual.tokens))
    },
  },
  {
    name: 'bearer-sqlite',
    title: 'Bearer check, SQLite',
    to: bare,
    target: 0.25,
    async prepare(bench) {
      const file = await bench.sqliteFile(usual)
      return againstBare(bench, await bench.startSvc(`file:${file}`), bearerRequests(usual.tokens))
    },
  },
  {
    name: 'session-postgresql',
    title: 'Session check, PostgreSQL',
    to: bare,
    target: 0.45,
    async prepare(bench) {
      const url = await databaseOf(bench)
      await settlePostgresql(url, 1)
      return againstBare(bench, await bench.startSvc(url), sessionRequests(usual.sessions))
    },
  },
  {
    name: 'table-size',
    title: 'Bearer check, 1 M tokens in the table',
    to: '10 k tokens in the table',
    target: 0.9,
    async prepare(bench) {
      // Both tables use the same number of tokens. Only the size of the table differs.
      const used = 10_000
      const sideOf = async (name: string, tokens: number) => {
        const url = await bench.database(name, { users: 10_000, tokens, sessions: 0 })
        await settlePostgresql(url, tokens / used)
        const server = await bench.startSvc(url)
        return { server, sample: sampler(bench, server, bearerRequests(tokens, tokens / used)) }
      }
      const small = await sideOf('small', 10_000)
      const large = await sideOf('large', 1_000_000)
      await small.sample(warmUp)
      await large.sample(warmUp)
      const stop = async () => {
        await Promise.all([small.server.stop(), large.server.stop()])
      }
      return { base: small.sample, op: large.sample, server: large.server, stop }
    },
  },
  {
    name: 'logins',
    title: 'Bearer check while logins fill the hashing pool',
    to: 'the same without logins',
    target: 0.4,
    p99Target: 4,
    async prepare(bench) {
      const url = await databaseOf(bench)
      await settlePostgresql(url, 1)
      const server = await bench.startSvc(url)
      const base = sampler(bench, server, bearerRequests(usual.tokens))
      const op = besideLogins(server, base)
      await base(warmUp)
      await op(warmUp)
      return { base, op, server, stop: server.stop }
    },
  },
  {
    name: 'password-logins',
    title: 'POST /login, right passwords',
    to: 'the argon2 library alone, on as many threads',
    target: 0.8,
    async prepare(bench) {
      const url = await databaseOf(bench)
      await settlePostgresql(url, 1)
      const server = await bench.startSvc(url)
      const op = sampler(bench, server, sessionLoginRequests(usual.users), loginConnections)
      await op(warmUp)
      return { base: argon2Alone, op, server, stop: server.stop }
    },
  },
]

/** Resident memory in MB: idle after the start, and the maximum under each load. */
export interface MemoryFigures {
  idle: number
  bearer: number
  session: number
  logins: number
  /** Ten seconds after the last load. */
  afterwards: number
}

export const memoryTargets = { idle: 110, load: 200 }

/** The memory of a fresh server on PostgreSQL, idle and under the loads of the comparisons. */
export async function measureMemory(bench: Bench): Promise<MemoryFigures> {
  const url = await databaseOf(bench)
  await settlePostgresql(url, 1)
  const server = await bench.startSvc(url)
  const { seconds } = bench.options
  await sleep(5000)
  const idle = residentMemory(server.pid)
  const bearer = sampler(bench, server, bearerRequests(usual.tokens))
  const session = sampler(bench, server, sessionRequests(usual.sessions))
  const figures = {
    idle,
    bearer: (await bearer(2 * seconds)).memory,
    session: (await session(2 * seconds)).memory,
    logins: (await besideLogins(server, bearer)(2 * seconds)).memory,
  }
  await sleep(10_000)
  const afterwards = residentMemory(server.pid)
  await server.stop()
  return { ...figures, afterwards }
}
