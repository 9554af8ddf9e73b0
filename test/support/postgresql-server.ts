import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import pg from 'pg'
import { freePort } from './port.ts'
import { until } from './until.ts'

/** A PostgreSQL server for the tests. */
export interface PostgresqlServer {
  /** The URL of its `postgres` database, for the superuser. */
  url: string
  port: number
  /** Stops the server and its connections; its files stay. */
  halt(): Promise<void>
  /** Starts it again, on the same port. */
  restart(): Promise<void>
  /** Offers TLS from now on, with these files of a certificate and its key. */
  offerTls(files: { chain: string; key: string }): Promise<void>
  /** Makes it a standby from the next start on. */
  demote(): void
  /** Pauses all its processes: connections stay open without answers. */
  freeze(): void
  thaw(): void
  /** Stops the server and its connections, and deletes its files. */
  stop(): Promise<void>
}

/** The folder of PostgreSQL's programs, or undefined if they are not installed. */
export function findPostgresql(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...versions.map((v) => join(debian, v, 'bin'))]
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

/** Starts a fresh server in a temporary directory, on a free port of the loopback interface. */
export async function startPostgresql(programs = findPostgresql()): Promise<PostgresqlServer> {
  if (!programs) throw new Error('PostgreSQL is not on this machine (initdb, postgres)')
  const folder = mkdtempSync(join(tmpdir(), 'svc-postgresql-'))
  const owner = serverUser()
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  // The working directory may be closed to that user.
  const as = { cwd: folder, ...owner, env: { ...process.env, HOME: folder, LC_ALL: 'C' } }
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync', '--no-instructions'],
    { ...as, encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}${made.error?.message ?? ''}`)
  const port = await freePort()
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    // Tests reuse databases. Rows stay in the order in which they were written.
    autovacuum: 'off',
  }
  const flags = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`
  const start = async () => {
    const begun = spawn(join(programs, 'postgres'), ['-D', data, ...flags], {
      ...as,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let log = ''
    begun.stderr.on('data', (chunk) => {
      log = `${log}${chunk}`.slice(-4000)
    })
    child = begun
    await untilReady(url, begun, () => log)
    // It must not keep the test process alive.
    begun.unref()
    begun.stderr.destroy()
  }
  let child: ChildProcess | undefined
  // Everything must end with the process that started it.
  const abandon = () => {
    child?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  process.once('exit', abandon)
  const halt = async () => {
    if (child) await end(child)
  }
  const stop = async () => {
    signalAll(child, 'SIGCONT')
    await halt()
    process.off('exit', abandon)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  const [freeze, thaw] = [() => signalAll(child, 'SIGSTOP'), () => signalAll(child, 'SIGCONT')]
  const demote = () => writeFileSync(join(data, 'standby.signal'), '')
  const offerTls = async ({ chain, key }: { chain: string; key: string }) => {
    for (const [name, file] of [
      ['server.crt', chain],
      ['server.key', key],
    ] as const) {
      writeFileSync(join(data, name), readFileSync(file), { mode: 0o600 })
      if (owner) chownSync(join(data, name), owner.uid, owner.gid)
    }
    const admin = new pg.Client({ connectionString: url })
    await admin.connect()
    await admin.query('ALTER SYSTEM SET ssl = on')
    await admin.query('SELECT pg_reload_conf()')
    await admin.end()
  }
  return { url, port, offerTls, halt, restart: start, demote, freeze, thaw, stop }
}

/** Sends a signal to the server and to each process that it started, which are separate process groups. */
function signalAll(child: ChildProcess | undefined, signal: NodeJS.Signals): void {
  if (!child?.pid || child.exitCode !== null) return
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')
  for (const pid of [child.pid, ...children.filter(Boolean).map(Number)]) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      // A process of one connection may end meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

async function untilReady(url: string, child: ChildProcess, log: () => string): Promise<void> {
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`PostgreSQL did not start: ${log()}`)
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    )
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.ref()
  const gone = new Promise((resolve) => child.once('exit', resolve))
  // A fast shutdown: connections are closed immediately.
  child.kill('SIGINT')
  const late = setTimeout(() => child.kill('SIGKILL'), 5000)
  await gone
  clearTimeout(late)
}

/** A user for servers that refuse to run as root: the one of this name, if it exists. */
export function serverUser(wanted = 'postgres'): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const user = users.find(([name]) => name === wanted) ?? users.find(([name]) => name === 'nobody')
  return user ? { uid: Number(user[2]), gid: Number(user[3]) } : { uid: 65534, gid: 65534 }
}
