import { spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../../test/support/port.ts'
import { findPostgresql } from '../../test/support/postgresql-server.ts'

/** A PostgreSQL server for the benchmark. */
export interface Postgresql {
  pid: number
  port: number
  version: string
  /** Creates an empty database and returns its URL. */
  create(name: string): Promise<string>
  /** Renames a database without connections and returns its URL. */
  rename(name: string, to: string): Promise<string>
  /** The URL of a database; null if there is none of this name. */
  find(name: string): Promise<string | null>
  stop(): Promise<void>
}

/** As in production: every commit reaches the disk. */
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 100,
  shared_buffers: '256MB',
  max_wal_size: '4GB',
  fsync: 'on',
  synchronous_commit: 'on',
}

/** Starts a server in this folder, new or with the files of an earlier run. `more` has further settings. */
export async function startPostgresql(folder: string, more: Record<string, string> = {}): Promise<Postgresql> {
  const programs = findPostgresql()
  if (!programs) throw new Error('PostgreSQL is not on this machine (initdb, postgres).')
  const data = join(folder, 'data')
  mkdirSync(folder, { recursive: true })
  const owner = serverUser()
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const as = { cwd: folder, ...owner, env: { PATH: process.env.PATH, HOME: folder, LC_ALL: 'C' } }
  const flags = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync', '--no-instructions']
  if (!existsSync(data)) {
    const made = spawnSync(join(programs, 'initdb'), ['-D', data, ...flags], { ...as, encoding: 'utf8' })
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}${made.error?.message ?? ''}`)
  }

  const port = await freePort()
  const given = Object.entries({ port, ...settings, ...more }).flatMap(([key, value]) => ['-c', `${key}=${value}`])
  const child = spawn(join(programs, 'postgres'), ['-D', data, ...given], { ...as, stdio: 'ignore' })
  const gone = new Promise((resolve) => child.once('exit', resolve))
  process.once('exit', () => child.kill('SIGKILL'))
  const stop = async () => {
    child.kill('SIGINT')
    await gone
  }
  const urlOf = (database: string) => `postgresql://postgres@127.0.0.1:${port}/${database}`
  const ask = (sql: string) => withClient(urlOf('postgres'), (client) => client.query(sql))

  for (let tries = 0; ; tries++) {
    try {
      const version = String((await ask('SHOW server_version')).rows[0].server_version)
      const create = async (name: string) => {
        await ask(`CREATE DATABASE ${name}`)
        return urlOf(name)
      }
      const rename = async (name: string, to: string) => {
        await ask(`ALTER DATABASE ${name} RENAME TO ${to}`)
        return urlOf(to)
      }
      const find = async (name: string) =>
        (await ask(`SELECT 1 FROM pg_database WHERE datname = '${name}'`)).rowCount ? urlOf(name) : null
      return { pid: child.pid ?? 0, port, version, create, rename, find, stop }
    } catch (error) {
      if (tries > 200 || child.exitCode !== null) throw error
      await sleep(50)
    }
  }
}

export async function openClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Runs a function with a connection, then closes it. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await openClient(url)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

// PostgreSQL refuses to run as root.
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  return user ? { uid: Number(user[2]), gid: Number(user[3]) } : { uid: 65534, gid: 65534 }
}
