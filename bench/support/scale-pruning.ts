import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migratePostgresql } from '../../src/platform/database/migrate.ts'
import { migrationsFolder } from '../../src/platform/database/migrations.ts'
import type { Bench } from './bench.ts'
import { type Sample, sampler } from './operations.ts'
import { openClient, withClient } from './postgresql.ts'
import { median, rounded } from './report.ts'
import { bearerRequests } from './requests.ts'
import { type ScaleSide, scaleSettings } from './scale-operations.ts'
import { addEnded } from './scale-rows.ts'

/** Connections of the load beside pruning and migrations: they leave some time of the machine. */
const connections = 4
const window = 2

export interface PruningResult {
  /** The table. */
  name: MeasuredTable
  rows: number
  seconds: number
  /** 99th percentile in milliseconds: median of windows of two seconds. */
  p99: { before: number; during: number }
  max: { before: number; during: number }
  ratio: number
}

const jobs = "UPDATE jobs SET last_run_at = '2020-01-01'"
const activeTokens = ({ amounts: { tokens } }: ScaleSide) => bearerRequests(tokens, tokens / 10_000)

const milliseconds = '(extract(epoch FROM now()) * 1000)::bigint'

/** The tables whose pruning is measured, with the condition of ended rows. Counting all rows would slow requests down. */
const endedRows = {
  personal_access_tokens: ['expires_at', "now() - interval '2 days'"],
  sessions: ['last_seen_at', "now() - interval '2 days'"],
  events: ['created_at', "now() - interval '450 days'"],
  oauth_records: ['expires_at', `${milliseconds} - 86400000`],
  used_once: ['expires_at', `${milliseconds} - 86400000`],
} as const

type MeasuredTable = keyof typeof endedRows
export const measuredTables = Object.keys(endedRows) as MeasuredTable[]

const isPruned = (url: string, table: MeasuredTable): Promise<boolean> =>
  withClient(url, async (client) => {
    const [column, end] = endedRows[table]
    const { rowCount } = await client.query(
      `SELECT 1 FROM ${table} WHERE ${column} < ${end} ORDER BY ${column} LIMIT 1`,
    )
    return rowCount === 0
  })

/** Adds ended rows, and measures bearer checks before and while svc deletes them. */
export async function measurePruning(
  bench: Bench,
  side: ScaleSide,
  table: MeasuredTable,
  rows: number,
): Promise<PruningResult> {
  const { url } = side
  await addEnded(url, table, rows, side.amounts.users)
  await withClient(url, (client) => client.query('UPDATE jobs SET last_run_at = now()'))
  const quiet = await bench.startSvc(url, scaleSettings)
  const take = sampler(bench, quiet, activeTokens(side), connections)
  await take(window)
  const windows = async (count: number) => {
    const found: Sample[] = []
    for (let i = 0; i < count; i++) found.push(await take(window))
    return found
  }
  const before = await windows(5)
  await withClient(url, (client) => client.query(jobs))
  // Runs the jobs when it starts. The measured server shares only the database with it.
  const begin = performance.now()
  const pruning = await bench.startSvc(url, scaleSettings)
  const during: Sample[] = []
  let seconds = 0
  while (seconds === 0) {
    during.push(await take(window))
    if (await isPruned(url, table)) seconds = (performance.now() - begin) / 1000
  }
  await Promise.all([quiet.stop(), pruning.stop()])
  const of = (pick: 'p99' | 'max') => ({
    before: rounded(median(before.map((sample) => sample[pick])), 2),
    during: rounded(median(during.map((sample) => sample[pick])), 2),
  })
  const p99 = of('p99')
  return {
    name: table,
    rows,
    seconds: rounded(seconds, 1),
    p99,
    max: of('max'),
    ratio: rounded(p99.during / p99.before, 2),
  }
}

export interface MigrationResult {
  /** The index. */
  name: string
  seconds: number
  /** The longest time that a request took, in milliseconds. */
  pause: { reads: number; writes: number }
}

/** Applies migrations that create an index on a large table, beside bearer checks and writes to that table. */
export async function measureMigrations(bench: Bench, side: ScaleSide): Promise<MigrationResult[]> {
  const { url } = side
  const writes = {
    sessions: 'UPDATE sessions SET last_seen_at = last_seen_at WHERE public_id = $1',
    personal_access_tokens: 'UPDATE personal_access_tokens SET last_used_at = now() WHERE id = $1',
  } as const
  const found: MigrationResult[] = []
  for (const [table, write] of Object.entries(writes)) {
    const name = `${table}_created_at_idx`
    const server = await bench.startSvc(url, scaleSettings)
    await withClient(url, (client) => client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`))
    const folder = mkdtempSync(join(tmpdir(), 'svc-migrations-'))
    cpSync(migrationsFolder('postgresql'), folder, { recursive: true })
    const added = join(folder, `29990101000000_${name}`)
    mkdirSync(added)
    writeFileSync(join(added, 'migration.sql'), `CREATE INDEX CONCURRENTLY "${name}" ON "${table}"("created_at");`)
    const take = sampler(bench, server, activeTokens(side), connections)
    const begin = performance.now()
    let isDone = false
    const migrated = withClient(url, (client) =>
      migratePostgresql(client, { folder, connect: () => openClient(url) }),
    ).finally(() => {
      isDone = true
    })
    const pause = { reads: 0, writes: 0 }
    const writing = withClient(url, async (client) => {
      for (let n = 1; !isDone; n++) {
        const start = performance.now()
        await client.query(write, [n])
        pause.writes = Math.max(pause.writes, performance.now() - start)
        await sleep(5)
      }
    })
    while (!isDone) pause.reads = Math.max(pause.reads, (await take(window)).max)
    await Promise.all([migrated, writing])
    const seconds = (performance.now() - begin) / 1000
    await server.stop()
    await withClient(url, (client) =>
      client.query(`DELETE FROM _prisma_migrations WHERE migration_name LIKE '29990101000000_%'`),
    )
    rmSync(folder, { recursive: true })
    found.push({
      name,
      seconds: rounded(seconds, 1),
      pause: { reads: rounded(pause.reads, 0), writes: rounded(pause.writes, 0) },
    })
  }
  return found
}
