import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ConfigError } from '../platform/config/config-error.ts'
import { CurrentConfig } from '../platform/config/current.ts'
import { loadConfig, type ReadFile } from '../platform/config/load.ts'
import type { Config, Settings } from '../platform/config/schema.ts'
import { shownLater } from '../platform/config/shown.ts'
import { connectionHint } from '../platform/database/connection-hint.ts'
import { MigrationError } from '../platform/database/migrations.ts'
import { PoolerError } from '../platform/database/pooler.ts'
import { isUnavailable } from '../platform/database/unavailable.ts'
import { reasonOf } from '../platform/dependencies.ts'
import { PortError } from '../platform/http/listen.ts'
import { forTerminal } from '../platform/observability/terminal.ts'

/** Configuration at boot. */
export interface BootSettings {
  config: CurrentConfig
  /** The settings, without a secret that svc generated. */
  settings: Settings
  file: string | null
  warnings: string[]
}

/** Loads the configuration. In development, generates a missing secret once and stores it beside the data. */
export function loadSettings(read?: ReadFile): BootSettings {
  const { config, ...loaded } = loadConfig(read ? { read } : {})
  const shown = shownLater(config, loaded)
  if (config.app.secret.length > 0) return { ...loaded, config: new CurrentConfig(config, shown) }
  const secret = developmentSecret(dataDirectory(config))
  return { ...loaded, config: new CurrentConfig({ ...config, app: { ...config.app, secret: [secret] } }, shown) }
}

/** Directory for generated files: beside the database file, otherwise `data`. */
const dataDirectory = ({ database }: Config): string => (database.file ? dirname(database.file) : resolve('data'))

/** svc cannot start in this environment, such as without write permission. The message says what to do. */
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
      `The data directory ${directory} cannot be written (${cause.message}). Make the user that runs svc its owner, or put ` +
        'the database elsewhere with DATABASE_URL=file:/path/to/svc.db and the secret into SVC_SECRET.',
      { cause },
    )
  }
}

function makeSecret(file: string): void {
  try {
    // `wx` fails if the file exists, so only one of several starting processes creates the secret.
    writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && codeOf(error) === 'EEXIST')) throw error
  }
}

function readSecret(file: string): string {
  for (let tries = 0; tries < 100; tries++) {
    const text = readFileSync(file, 'utf8').trim()
    if (text.length >= 32) return text
    // Another process has created the file but has not written it yet.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
  }
  throw new StartError(`${file} does not contain a secret of at least 32 bytes. Delete it to generate a new one.`)
}

/** PostgreSQL connection errors: role, password, database. */
const connectionRefusals = new Set(['28000', '28P01', '3D000'])

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : '')

/** Returns a message for errors that an operator can fix; null for bugs. */
function explanation(error: Error): string | null {
  if ([ConfigError, MigrationError, PoolerError, PortError, StartError].some((kind) => error instanceof kind))
    return error.message
  if ('syscall' in error && ['listen', 'bind'].includes(String(error.syscall)) && 'port' in error) {
    const reason = codeOf(error) === 'EADDRINUSE' ? `port ${error.port} is in use` : error.message
    return `svc cannot listen: ${reason}. Set server.host and server.port (PORT) to a free address.`
  }
  const hint = connectionHint(error)
  if (hint !== null) return `The database cannot be used: ${error.message}. ${hint}.`
  if (!isUnavailable(error) && !connectionRefusals.has(codeOf(error))) return null
  return `The database cannot be used: ${reasonOf(error)}. Is it running, and is database.url (DATABASE_URL) right?`
}

/** Prints why the process ends and exits: 78 for an invalid configuration, otherwise 1. `isJson` makes it a log line. */
export function exitOnError(error: unknown, isJson = false): never {
  const text = error instanceof Error ? (explanation(error) ?? error.stack ?? error.message) : String(error)
  const line = isJson ? JSON.stringify({ level: 'fatal', time: new Date().toISOString(), msg: text }) : text
  process.stderr.write(`${forTerminal(line)}\n`)
  process.exit(error instanceof ConfigError ? 78 : 1)
}
