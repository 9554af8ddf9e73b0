import { spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { isAvailable } from './available.ts'
import { freePort } from './port.ts'
import { serverUser } from './postgresql-server.ts'
import { until } from './until.ts'

const program = ['/usr/sbin/pgbouncer', '/usr/local/bin/pgbouncer'].find((path) => existsSync(path))

/** Whether PgBouncer is installed for the tests; CI requires it. */
export function hasPgbouncer(t: Test): boolean {
  return isAvailable(t, Boolean(program), 'PGBOUNCER IS NOT ON THIS MACHINE: NOTHING WAS TESTED WITH IT')
}

/** Starts a PgBouncer in front of a database, and returns the URL of the database behind it. */
export async function startPgbouncer(
  t: Test,
  databaseUrl: string,
  { mode = 'transaction', size = 2 }: { mode?: 'transaction' | 'session'; size?: number } = {},
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pgbouncer-'))
  const url = new URL(databaseUrl)
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    default_pool_size: size,
    max_client_conn: 500,
    server_login_retry: 1,
    query_wait_timeout: 3,
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
  const child = spawn(program ?? '', [file], { cwd: folder, ...owner, stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.on('data', (chunk) => {
    log += chunk
  })
  t.teardown(async () => {
    const gone = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode === null && child.kill('SIGKILL')) await gone
    rmSync(folder, { recursive: true, force: true })
  })
  await until(() => log.includes('process up') || child.exitCode !== null)
  if (child.exitCode !== null) throw new Error(`PgBouncer does not start: ${log}`)
  url.port = String(port)
  return url.href
}
