import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from './bench.ts'
import { type CostOperation, costAmounts, costOperations, costSettings } from './cost-operations.ts'
import {
  connectionTimeSince,
  connectionTimes,
  costOf,
  type DatabaseCost,
  measuredDatabase,
  prepareCounting,
  rowsWritten,
  type StatementCost,
} from './database-cost.ts'
import { Load, type LoadFigures, type NextRequest } from './load.ts'
import { withClient } from './postgresql.ts'
import { mainThreadTime, processorTime, type Running } from './processes.ts'
import { median, rounded } from './report.ts'
import { settlePostgresql } from './rows.ts'

/** What one operation does, with one connection. */
export interface Counts extends DatabaseCost {
  /** Rows that were inserted, updated and deleted, including those of mail, but not recorded uses. */
  written: number
}

/** What one operation costs under load, where lookups share statements. */
export interface Times {
  /** Operations per second. */
  rate: number
  /** Processor time of svc in microseconds. */
  svc: number
  /** The part of it on the event loop. The rest is on threads that hash passwords, and collect garbage. */
  loop: number
  /** Processor time of PostgreSQL's connections in microseconds. */
  database: number
  /** Round trips, including those after the response. */
  loadStatements: number
  /** Bytes of the write-ahead log, with full-page images. */
  loadWal: number
}

export interface OperationCost extends Counts, Times {
  name: string
  title: string
}

/** Counts how often it is called. */
function counted(requests: readonly Buffer[] | NextRequest): { next: NextRequest; calls(): number } {
  let calls = 0
  const pick = typeof requests === 'function' ? requests : () => anyOf(requests)
  const next: NextRequest = (answer) => {
    calls++
    return pick(answer)
  }
  return { next, calls: () => calls }
}

const anyOf = (list: readonly Buffer[]): Buffer => list[Math.floor(Math.random() * list.length)] ?? Buffer.alloc(0)

export const costDatabase = async (bench: Bench): Promise<string> => {
  const url = await bench.database(measuredDatabase, costAmounts)
  await prepareCounting(url)
  return url
}

export const startMeasured = (bench: Bench, url: string, workers = 1): Promise<Running> =>
  bench.startSvc(url, { ...costSettings, server: { workers, trust_proxy: ['127.0.0.1'] } })

/** Sets a setting of PostgreSQL and reloads it. */
export const set = (url: string, name: string, value: string): Promise<void> =>
  withClient(url, async (client) => {
    await client.query(`ALTER SYSTEM SET ${name} = ${value}`)
    await client.query('SELECT pg_reload_conf()')
    await sleep(300)
    await client.query('CHECKPOINT')
  })

/** Runs a load for some seconds. Returns the figures and the number of requests, including those of the start. */
async function run(
  server: Running,
  requests: NextRequest,
  { connections, seconds, steps = 1 }: { connections: number; seconds: number; steps?: number },
): Promise<LoadFigures> {
  const load = new Load({ port: server.port, requests, connections, steps })
  await load.start()
  const figures = await load.measure(seconds)
  await load.stop()
  return figures
}

/** Runs a load until svc has compiled what it runs. */
async function warmUp(
  server: Running,
  next: NextRequest,
  options: { connections: number; steps: number },
  calls: () => number,
): Promise<void> {
  const load = new Load({ port: server.port, requests: next, ...options })
  const begin = calls()
  await load.start()
  for (let waited = 0; waited < 12 && calls() - begin < 5_000; waited++) await load.measure(1)
  await load.stop()
}

/** What an operation is measured on. All operations use the same database and server. */
interface Measured {
  url: string
  server: Running
  databasePid: number
}

/** A measured cost, and the statements of one operation with the slowest first. */
interface WithStatements<Cost> {
  cost: Cost
  top: StatementCost[]
}

/** Counts what an operation does, with one connection. */
export async function measureCounts(
  { url, server }: Measured,
  operation: CostOperation,
): Promise<WithStatements<Counts>> {
  const { requests: each = 1 } = operation
  const { next, calls } = counted(await operation.requestsOf(server))
  await run(server, next, { connections: 1, seconds: 1, steps: each })
  // Mail of other operations.
  await withClient(url, (client) => client.query('DELETE FROM outbox'))
  await sleep(500)
  await set(url, 'full_page_writes', 'off')
  const begin = calls()
  const found = await costOf(
    url,
    async () => void (await run(server, next, { connections: 1, seconds: 2, steps: each })),
  )
  const times = (calls() - begin) / each
  const written = Math.max(0, (await rowsWritten(url, found.range)) - found.uses)
  await set(url, 'full_page_writes', 'on')
  const { statements, later, read, wal } = found
  const cost = {
    statements: rounded(statements / times, 2),
    later: rounded(later / times, 2),
    read: rounded(read / times, 2),
    written: rounded(written / times, 2),
    wal: rounded(wal / times, 0),
  }
  return { cost, top: share(found.top, times) }
}

/** Measures the processor time of an operation under load. */
export async function measureTimes(
  bench: Bench,
  { url, server, databasePid }: Measured,
  operation: CostOperation,
): Promise<WithStatements<Times>> {
  const { requests: each = 1, connections = bench.options.connections } = operation
  const { seconds, rounds } = bench.options
  const { next, calls } = counted(await operation.requestsOf(server))
  await warmUp(server, next, { connections, steps: each }, calls)
  const samples: Record<'rate' | 'svc' | 'loop' | 'database', number>[] = []
  const begin = calls()
  const loaded = await costOf(url, async () => {
    for (let round = 0; round < rounds; round++) {
      const start = calls()
      const before = {
        svc: processorTime(server.pid),
        loop: mainThreadTime(server.pid),
        database: connectionTimes(databasePid),
      }
      const { rate } = await run(server, next, { connections, seconds, steps: each })
      const svc = processorTime(server.pid) - before.svc
      const loop = mainThreadTime(server.pid) - before.loop
      const database = connectionTimeSince(before.database, databasePid)
      const times = (calls() - start) / each
      samples.push({ rate, svc: svc / times, loop: loop / times, database: database / times })
    }
  })
  const times = (calls() - begin) / each
  const of = (name: keyof (typeof samples)[number], digits = 1) =>
    rounded(median(samples.map((sample) => sample[name])), digits)
  const cost = {
    rate: of('rate', 0),
    svc: of('svc'),
    loop: of('loop'),
    database: of('database'),
    loadStatements: rounded((loaded.statements + loaded.later) / times, 2),
    loadWal: rounded(loaded.log / times, 0),
  }
  return { cost, top: share(loaded.top, times) }
}

const share = (list: StatementCost[], by: number): StatementCost[] =>
  list.map((each) => ({
    ...each,
    calls: each.calls / by,
    rows: each.rows / by,
    wal: each.wal / by,
    time: each.time / by,
    planning: each.planning / by,
  }))

/** Settles the database before a run. */
export const settle = (url: string): Promise<void> => settlePostgresql(url, 1)

export const operationsOf = (names: readonly string[]): CostOperation[] =>
  costOperations.filter(({ name }) => names.length === 0 || names.includes(name))

/** What recording the use of one credential costs: a row, in a statement with many. */
export interface UseCost {
  /** Microseconds of PostgreSQL. */
  database: number
  /** Bytes of the write-ahead log. */
  wal: number
  /** The same with full-page images. */
  loadWal: number
}

/** The cost of each row of the statement that records uses, from its run alone and its run under load. */
export function useCost(alone: readonly StatementCost[], loaded: readonly StatementCost[]): UseCost {
  const of = (list: readonly StatementCost[], pick: (each: StatementCost) => number) => {
    const found = list.find(({ query }) => query.includes('SET last_used_at'))
    if (!found?.rows) throw new Error('No use of a token was recorded.')
    return pick(found) / found.rows
  }
  return {
    database: rounded(
      of(loaded, ({ time }) => time * 1000),
      1,
    ),
    wal: rounded(
      of(alone, ({ wal }) => wal),
      0,
    ),
    loadWal: rounded(
      of(loaded, ({ wal }) => wal),
      0,
    ),
  }
}
