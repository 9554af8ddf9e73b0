// lane: all
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createConnection } from 'mariadb'
import type { Test } from 'tap'
import { isAvailable } from './available.ts'
import { freePort } from './port.ts'
import { serverUser } from './postgresql-server.ts'
import { until } from './until.ts'

const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/bin']

const find = (program: string): string | undefined =>
  folders.map((folder) => join(folder, program)).find((file) => existsSync(file))

/** Whether MariaDB is installed for the tests; CI requires it. */
export function hasMariadb(t: Test): boolean {
  return isAvailable(
    t,
    Boolean(find('mariadbd') && find('mariadb-install-db')),
    'MARIADB IS NOT ON THIS MACHINE: NOTHING WAS TESTED WITH IT',
  )
}

/** Starts a fresh server in a temporary directory, on a free port of the loopback interface; stopped with the test. */
export async function startMariadb(t: Test): Promise<{ port: number; run(sql: string): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mariadb-'))
  const owner = serverUser('mysql')
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const as = { cwd: folder, ...owner, env: { ...process.env, HOME: folder, LC_ALL: 'C' } }
  const data = join(folder, 'data')
  const settings = ['--no-defaults', `--datadir=${data}`]
  const made = spawnSync(
    find('mariadb-install-db') ?? '',
    [...settings, '--auth-root-authentication-method=normal', '--skip-test-db'],
    { ...as, encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(`mariadb-install-db failed: ${made.stdout}${made.stderr}`)
  const port = await freePort()
  const flags = [
    '--bind-address=127.0.0.1',
    `--port=${port}`,
    `--socket=${join(folder, 'socket')}`,
    '--skip-name-resolve',
  ]
  const child = spawn(find('mariadbd') ?? '', [...settings, ...flags], { ...as, stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const abandon = () => child.kill('SIGKILL')
  process.once('exit', abandon)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    process.off('exit', abandon)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const connect = () => createConnection({ host: '127.0.0.1', port, user: 'root', multipleStatements: true })
  await until(() => {
    if (child.exitCode !== null) throw new Error(`MariaDB did not start: exit code ${child.exitCode}`)
    return connect().then(
      (connection) => connection.end().then(() => true),
      () => false,
    )
  })
  const connection = await connect()
  connection.on('error', () => undefined)
  return { port, run: async (sql) => void (await connection.query(sql)) }
}
