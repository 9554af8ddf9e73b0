import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { withClient } from './postgresql.ts'
import { ownTime } from './processes.ts'

/** The database of a measurement. */
export const measuredDatabase = 'svc'

/** PostgreSQL settings that count statements. */
export const countingStatements = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'top',
  'pg_stat_statements.track_planning': 'on',
  // Checkpoints would add full-page images to some samples.
  checkpoint_timeout: '1h',
}

/** What a run cost the database. */
export interface DatabaseCost {
  /** Round trips before the response, including BEGIN and COMMIT. */
  statements: number
  /** Round trips after the response: mail, and the uses of tokens and sessions. */
  later: number
  /** Rows that SELECT returned before the response. */
  read: number
  /** Bytes of the write-ahead log, without recorded uses. */
  wal: number
}

/** The cost of a load and its statements, with the slowest first. */
export interface LoadCost extends DatabaseCost {
  /** Recorded uses of tokens and sessions. */
  uses: number
  /** The growth of the whole write-ahead log in bytes. */
  log: number
  /** The positions in the write-ahead log where the load began and ended. */
  range: [from: string, to: string]
  top: StatementCost[]
}

/** Statements that run after the response: jobs, and recorded uses. */
export const later =
  /^\s*(UPDATE|DELETE FROM|SELECT id FROM) ("public".)?"?outbox|SET last_(used|seen)_at|"jobs"|^(VACUUM|ANALYZE)/

const ours = "query NOT LIKE '%pg_stat_%'"

export interface StatementCost {
  query: string
  calls: number
  rows: number
  wal: number
  /** Milliseconds. */
  time: number
  planning: number
}

/** Prepares the database for a measurement. */
export const prepareCounting = (url: string): Promise<void> =>
  withClient(url, async (client) => {
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_walinspect')
  })

/** Runs a load and returns its cost. */
export async function costOf(url: string, load: () => Promise<void>): Promise<LoadCost> {
  const before = await positionOf(url)
  await withClient(url, (client) => client.query('SELECT pg_stat_statements_reset()'))
  await load()
  // Sessions report their statistics within a second.
  await sleep(1_200)
  const top = await withClient(url, async (client) => {
    const { rows } = await client.query(`
      SELECT query, calls::int, rows::int, wal_bytes::float AS wal, total_exec_time AS time, total_plan_time AS planning
      FROM pg_stat_statements JOIN pg_database d ON d.oid = dbid AND d.datname = current_database()
      WHERE ${ours} ORDER BY total_exec_time DESC`)
    return rows as StatementCost[]
  })
  const after = await positionOf(url)
  const recordsUse = ({ query }: StatementCost) => /SET last_(used|seen)_at/.test(query)
  const isLater = ({ query }: StatementCost) => later.test(query)
  const sum = (pick: (each: StatementCost) => number, kind = /^/) =>
    top.filter(({ query }) => kind.test(query)).reduce((total, each) => total + pick(each), 0)
  return {
    statements: sum((each) => (isLater(each) ? 0 : each.calls)),
    later: sum((each) => (isLater(each) ? each.calls : 0)),
    read: sum((each) => (isLater(each) ? 0 : each.rows), /^\s*(SELECT|WITH keys)/i),
    wal: sum((each) => (recordsUse(each) ? 0 : each.wal)),
    uses: sum((each) => (recordsUse(each) ? each.rows : 0)),
    log: after.wal - before.wal,
    range: [before.position, after.position],
    top,
  }
}

export const positionOf = (url: string) =>
  withClient(url, async (client) => {
    const { rows } = await client.query(`
      SELECT pg_current_wal_flush_lsn() AS position, pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS wal, wal_sync AS syncs
      FROM pg_stat_wal`)
    const [{ position, wal, syncs }] = rows
    return { position: String(position), wal: Number(wal), syncs: Number(syncs) }
  })

/** The rows that were inserted, updated and deleted in this range of the write-ahead log. */
export const rowsWritten = (url: string, range: LoadCost['range']): Promise<number> =>
  withClient(url, async (client) => {
    // PostgreSQL rejects a range that begins at the end.
    if (range[0] === range[1]) return 0
    const { rows } = await client.query(
      `SELECT coalesce(sum(count), 0) AS written FROM pg_get_wal_stats($1, $2, true)
       WHERE "resource_manager/record_type" ~ '^Heap/(INSERT|UPDATE|HOT_UPDATE|DELETE)'`,
      range,
    )
    return Number(rows[0].written)
  })

/** The processor time of the connections to the measured database in microseconds, by process. */
export function connectionTimes(databasePid: number): Map<number, number> {
  const children = readFileSync(`/proc/${databasePid}/task/${databasePid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number)
  const open = children.filter((pid) => titleOf(pid).includes(` ${measuredDatabase} 127.0.0.1(`))
  return new Map(open.map((pid) => [pid, ownTime(pid)]))
}

function titleOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    // It ended meanwhile.
    return ''
  }
}

/** The processor time of the connections since `before`, in microseconds. */
export function connectionTimeSince(before: Map<number, number>, databasePid: number): number {
  const now = connectionTimes(databasePid)
  return [...now].reduce((total, [pid, time]) => total + time - (before.get(pid) ?? 0), 0)
}

/** Connections to the measured database, on average over a load. */
export interface Backends {
  open: number
  /** In a statement or a transaction. */
  used: number
  /** Of these, waiting for the write-ahead log or the disk. */
  disk: number
  /** Of these, waiting for a lock of another connection. */
  locks: number
  /** Of these, in a transaction and waiting for the next statement from svc. */
  svc: number
}

/** Samples what the connections wait for. Returns a function that ends it. */
export async function watchBackends(url: string): Promise<() => Promise<Backends>> {
  // Its own connection is to another database, so that it isn't counted.
  const client = new pg.Client({ connectionString: Object.assign(new URL(url), { pathname: '/postgres' }).href })
  await client.connect()
  const samples: Backends[] = []
  const stop = new AbortController()
  const sampling = (async () => {
    while (!stop.signal.aborted) {
      const { rows } = await client.query(`
        SELECT count(*)::int AS open,
          count(*) FILTER (WHERE state <> 'idle')::int AS used,
          count(*) FILTER (WHERE state = 'active' AND (wait_event_type = 'IO' OR wait_event LIKE 'WAL%'))::int AS disk,
          count(*) FILTER (WHERE state = 'active' AND wait_event_type IN ('Lock', 'LWLock', 'BufferPin')
            AND wait_event NOT LIKE 'WAL%')::int AS locks,
          count(*) FILTER (WHERE state LIKE 'idle in transaction%')::int AS svc
        FROM pg_stat_activity WHERE datname = '${measuredDatabase}' AND backend_type = 'client backend'`)
      samples.push(rows[0])
      await sleep(50)
    }
  })()
  const mean = (pick: (each: Backends) => number) =>
    Math.round((samples.reduce((total, each) => total + pick(each), 0) / samples.length) * 100) / 100
  return async () => {
    stop.abort()
    await sampling
    await client.end()
    return {
      open: mean(({ open }) => open),
      used: mean(({ used }) => used),
      disk: mean(({ disk }) => disk),
      locks: mean(({ locks }) => locks),
      svc: mean(({ svc }) => svc),
    }
  }
}
