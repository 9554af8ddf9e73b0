import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ConfigError } from './config/config-error.ts'
import { CurrentConfig } from './config/current.ts'
import { loadConfig, type ReadFile } from './config/load.ts'
import type { Config, Settings } from './config/schema.ts'
import { MigrationError } from './database/migrations.ts'
import { isUnavailable } from './database/unavailable.ts'
import { MetricsPortError } from './observability/metrics/listener.ts'
import { forTerminal } from './observability/terminal.ts'

/** The configuration a process begins with. */
export interface BootSettings {
  config: CurrentConfig
  /** What the configuration was derived from, without a secret that svc made itself. */
  settings: Settings
  file: string | null
  warnings: string[]
}

/** Loads the configuration; in development, a missing secret is made once and kept beside the data. */
export function loadSettings(read?: ReadFile): BootSettings {
  const { config, ...loaded } = loadConfig(read ? { read } : {})
  if (config.app.secret.length > 0) return { ...loaded, config: new CurrentConfig(config) }
  const secret = developmentSecret(dataDirectory(config))
  return { ...loaded, config: new CurrentConfig({ ...config, app: { ...config.app, secret: [secret] } }) }
}

/** Where svc keeps what it makes itself: beside the database file, else `data`. */
const dataDirectory = ({ database }: Config): string => (database.file ? dirname(database.file) : resolve('data'))

/** The machine does not let svc start; the message says what to do. */
class StartError extends Error {}

function developmentSecret(directory: string): string {
  const file = join(directory, 'svc.secret')
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    makeSecret(file)
    return readSecret(file)
  } catch (cause) {
    if (cause instanceof StartError || !(cause instanceof Error)) throw cause
    throw new StartError(
      `The data directory ${directory} cannot be written (${cause.message}). Let the user that runs svc own it, or put ` +
        'the database elsewhere with DATABASE_URL=file:/path/to/svc.db and the secret into SVC_SECRET.',
      { cause },
    )
  }
}

function makeSecret(file: string): void {
  try {
    // `wx` fails when the file exists: of several processes that start at once, one makes the secret.
    writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && codeOf(error) === 'EEXIST')) throw error
  }
}

function readSecret(file: string): string {
  for (let tries = 0; tries < 100; tries++) {
    const text = readFileSync(file, 'utf8').trim()
    if (text.length >= 32) return text
    // Another process has made the file and not filled it yet.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
  }
  throw new StartError(`${file} holds no secret of at least 32 bytes. Delete it to have another made.`)
}

/** PostgreSQL's refusals at the door: role, password, database. */
const refusedAtTheDoor = new Set(['28000', '28P01', '3D000'])

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : '')

/** What an operator can mend, without a stack trace; null for what is a fault of svc. */
function explanation(error: Error): string | null {
  if ([ConfigError, MigrationError, MetricsPortError, StartError].some((kind) => error instanceof kind))
    return error.message
  if ('syscall' in error && error.syscall === 'listen' && 'port' in error) {
    const reason = codeOf(error) === 'EADDRINUSE' ? `port ${error.port} is in use` : error.message
    return `svc cannot listen: ${reason}. Set server.host and server.port (PORT) to an address that is free.`
  }
  if (!isUnavailable(error) && !refusedAtTheDoor.has(codeOf(error))) return null
  // A name with several addresses fails once for each.
  const reasons =
    error instanceof AggregateError ? error.errors.map(({ message }) => message).join(', ') : error.message
  return `The database cannot be used: ${reasons}. Is it running, and is database.url (DATABASE_URL) right?`
}

/** Says on stderr why the process cannot go on: exit 78 for a bad configuration, 1 otherwise. */
export function exitOnError(error: unknown): never {
  const text = error instanceof Error ? (explanation(error) ?? error.stack ?? error.message) : String(error)
  process.stderr.write(`${forTerminal(text)}\n`)
  process.exit(error instanceof ConfigError ? 78 : 1)
}
