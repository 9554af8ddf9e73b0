// lane: all
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { isAvailable } from './available.ts'
import { freePort } from './port.ts'
import { serverUser } from './postgresql-server.ts'
import { until } from './until.ts'

const program =
  process.env.SVC_TEST_PGBOUNCER ?? ['/usr/sbin/pgbouncer', '/usr/local/bin/pgbouncer'].find((path) => existsSync(path))

/** A running PgBouncer. */
export interface Pooler {
  /** The URL of the database behind it. */
  url: string
  /** Sends a command to its console. */
  command(sql: string): Promise<void>
  /** Stops it and closes all connections. */
  stop(): Promise<void>
  start(): Promise<void>
  log(): string
}

/** Whether PgBouncer is installed for the tests; CI requires it. */
export function hasPgbouncer(t: Test): boolean {
  return isAvailable(t, Boolean(program), 'PGBOUNCER IS NOT ON THIS MACHINE: NOTHING WAS TESTED WITH IT')
}

/** Tests whether the PgBouncer of this machine keeps prepared statements in transaction mode, as 1.21 and later do. */
export function keepsStatements(): boolean {
  const { stdout } = spawnSync(program ?? 'pgbouncer', ['--version'], { encoding: 'utf8' })
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout ?? '') ?? []
  return Number(major) > 1 || Number(minor) >= 21
}

interface Options {
  mode?: 'transaction' | 'session'
  size?: number
  /** `max_prepared_statements`; earlier versions than 1.21 keep none. */
  statements?: number
}

/** Starts a PgBouncer in front of a database; stopped with the test. */
export async function startPgbouncer(
  t: Test,
  databaseUrl: string,
  { mode = 'transaction', size = 2, statements = 0 }: Options = {},
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pgbouncer-'))
  const url = new URL(databaseUrl)
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    admin_users: 'postgres',
    pool_mode: mode,
    default_pool_size: size,
    max_client_conn: 500,
    server_login_retry: 1,
    query_wait_timeout: 3,
    ...(keepsStatements() && { max_prepared_statements: statements }),
  }
  writeFileSync(
    file,
    [
      '[databases]',
      `${url.pathname.slice(1)} = host=${url.hostname} port=${url.port} user=${url.username || 'postgres'}`,
      '[pgbouncer]',
      ...Object.entries(settings).map(([key, value]) => `${key} = ${value}`),
    ].join('\n'),
  )
  const owner = serverUser()
  if (owner) chownSync(folder, owner.uid, owner.gid)
  let child: ChildProcess | undefined
  let log = ''
  const stop = async () => {
    const running = child
    if (!running || running.exitCode !== null || running.signalCode !== null) return
    const gone = new Promise((resolve) => running.once('exit', resolve))
    running.kill('SIGKILL')
    await gone
  }
  const start = async () => {
    const started = spawn(program ?? '', [file], { cwd: folder, ...owner, stdio: ['ignore', 'ignore', 'pipe'] })
    child = started
    let own = ''
    started.stderr.on('data', (chunk) => {
      own += chunk
      log += chunk
    })
    await until(() => own.includes('process up') || started.exitCode !== null)
    if (started.exitCode !== null) throw new Error(`PgBouncer does not start: ${own}`)
  }
  await start()
  t.teardown(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  url.port = String(port)
  const command = async (sql: string) => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'pgbouncer' })
    await client.connect()
    await client.query(sql).finally(() => client.end())
  }
  return { url: url.href, command, stop, start, log: () => log }
}
