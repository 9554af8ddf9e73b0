import { createCipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashSync } from '@node-rs/bcrypt'
import { decodeAttestationObject, parseAuthenticatorData } from '@simplewebauthn/server/helpers'
import pg from 'pg'
import type { Test } from 'tap'
import { openSqliteConnection } from '../../../src/platform/database/sqlite.ts'
import type { TestApp } from '../../support/app.ts'
import type { Authenticator } from '../../support/authenticator.ts'
import { runCommandOn } from '../../support/command.ts'
import { createTestDatabase } from '../../support/postgresql.ts'
import { temporaryDirectory } from '../../support/process.ts'

type Value = string | number | null

/** The database of a Laravel application. */
export interface LaravelDatabase {
  /** For `import:laravel`. */
  url: string
  run(sql: string): Promise<void>
}

const date = 'timestamp NULL DEFAULT NULL'

/** Tables of Laravel 12 with Fortify, Sanctum, Passport 13, passkeys and social accounts. */
export const schema = [
  `CREATE TABLE users (id bigint NOT NULL PRIMARY KEY, name varchar(255) NOT NULL, email varchar(255) NOT NULL UNIQUE,
    email_verified_at ${date}, password varchar(255), two_factor_secret text, two_factor_recovery_codes text,
    two_factor_confirmed_at ${date}, remember_token varchar(100), role varchar(20), created_at ${date}, updated_at ${date},
    deleted_at ${date})`,
  `CREATE TABLE personal_access_tokens (id bigint NOT NULL PRIMARY KEY, tokenable_type varchar(255) NOT NULL,
    tokenable_id bigint NOT NULL, name varchar(255) NOT NULL, token varchar(64) NOT NULL UNIQUE, abilities text,
    last_used_at ${date}, expires_at ${date}, created_at ${date}, updated_at ${date})`,
  `CREATE TABLE passkeys (id bigint NOT NULL PRIMARY KEY, user_id bigint NOT NULL, name varchar(255) NOT NULL,
    credential_id varchar(255) NOT NULL, credential text NOT NULL, last_used_at ${date}, created_at ${date}, updated_at ${date})`,
  `CREATE TABLE social_accounts (id bigint NOT NULL PRIMARY KEY, user_id bigint NOT NULL, provider varchar(255) NOT NULL,
    provider_id varchar(255) NOT NULL, created_at ${date}, updated_at ${date})`,
  `CREATE TABLE oauth_clients (id varchar(36) NOT NULL PRIMARY KEY, name varchar(255) NOT NULL, secret varchar(255),
    provider varchar(255), redirect_uris text NOT NULL, grant_types text NOT NULL, revoked boolean NOT NULL)`,
]

/** Inserts a row; text is quoted for every engine. */
export const insert = ({ run }: LaravelDatabase, table: string, row: Record<string, Value>): Promise<void> => {
  const values = Object.values(row).map((value) =>
    typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value),
  )
  return run(`INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')})`)
}

/** An SQLite file with these tables. */
export async function laravelFile(t: Test, tables: readonly string[] = schema): Promise<LaravelDatabase> {
  const file = join(temporaryDirectory(t), 'database.sqlite')
  const db = openSqliteConnection(file)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
  t.teardown(() => db.close())
  const laravel = { url: `file:${file}`, run: async (sql: string) => void db.exec(sql) }
  for (const table of tables) await laravel.run(table)
  return laravel
}

/** A database of PostgreSQL with these tables. Requires a test on that engine. */
export async function laravelOnPostgresql(t: Test): Promise<LaravelDatabase> {
  const { url, drop } = await createTestDatabase({ bare: true })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(async () => {
    await client.end()
    await drop()
  })
  const laravel = { url, run: async (sql: string) => void (await client.query(sql)) }
  for (const table of schema) await laravel.run(table)
  return laravel
}

export const appKey = `base64:${Buffer.alloc(32, 1).toString('base64')}`
const key = Buffer.alloc(32, 1)

/** What `encrypt()` of Laravel returns for a string, with AES-256-CBC. */
export function encrypted(text: string, secret: Buffer = key): string {
  const iv = randomBytes(16)
  const cipher = createCipheriv('aes-256-cbc', secret, iv)
  const plain = `s:${Buffer.byteLength(text)}:"${text}";`
  const value = Buffer.concat([cipher.update(plain), cipher.final()]).toString('base64')
  const mac = createHmac('sha256', secret)
    .update(`${iv.toString('base64')}${value}`)
    .digest('hex')
  return Buffer.from(JSON.stringify({ iv: iv.toString('base64'), value, mac, tag: '' })).toString('base64')
}

/** The same with AES-256-GCM. */
export function encryptedByGcm(text: string): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const plain = `s:${Buffer.byteLength(text)}:"${text}";`
  const value = Buffer.concat([cipher.update(plain), cipher.final()]).toString('base64')
  const tag = cipher.getAuthTag().toString('base64')
  return Buffer.from(JSON.stringify({ iv: iv.toString('base64'), value, mac: '', tag })).toString('base64')
}

export const password = 'old password of Laravel'

/** The hash that PHP wrote. */
const bcrypt = hashSync(password, 4).replace('$2b$', '$2y$')

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A row of `users`. */
export const userRow = (id: number, more: Record<string, Value> = {}): Record<string, Value> => ({
  id,
  name: `User ${id}`,
  email: `user${id}@example.com`,
  email_verified_at: '2024-03-01 10:00:00',
  password: bcrypt,
  created_at: '2024-02-29 09:08:07',
  updated_at: '2024-03-02 00:00:00',
  ...more,
})

/** A row of `personal_access_tokens`, whose plain text is `<id>|secret <id>`. */
export const tokenRow = (id: number, owner: number, more: Record<string, Value> = {}): Record<string, Value> => ({
  id,
  tokenable_type: 'App\\Models\\User',
  tokenable_id: owner,
  name: 'Phone',
  token: sha256(`secret ${id}`),
  abilities: '["orders:read"]',
  created_at: '2024-03-01 10:00:00',
  ...more,
})

/** A row of `passkeys` for a new credential of the authenticator. */
export function passkeyRow(id: number, owner: number, authenticator: Authenticator): Record<string, Value> {
  const userHandle = randomBytes(32).toString('base64url')
  const { response } = authenticator.register({ challenge: 'AAAA', user: { id: userHandle } })
  const object = new Uint8Array(Buffer.from(response.attestationObject, 'base64url'))
  const { credentialID, credentialPublicKey, counter } = parseAuthenticatorData(
    decodeAttestationObject(object).get('authData'),
  )
  const text = (bytes?: Uint8Array) => Buffer.from(bytes ?? []).toString('base64url')
  const credential = {
    publicKeyCredentialId: text(credentialID),
    type: 'public-key',
    transports: ['internal'],
    attestationType: 'none',
    aaguid: '00000000-0000-0000-0000-000000000000',
    credentialPublicKey: text(credentialPublicKey),
    userHandle,
    counter,
    backupStatus: true,
  }
  return {
    id,
    user_id: owner,
    name: 'Laptop',
    credential_id: credential.publicKeyCredentialId,
    credential: JSON.stringify(credential),
    created_at: '2024-03-01 10:00:00',
  }
}

/** A line of the report. */
export interface Line {
  table: string
  result: string
  rows: number
  reason: string | null
  ids: string[]
}

/** Settings of an svc with two of the providers. */
export const settings = {
  app: { frontend_url: 'http://localhost:5173' },
  admin: { roles: ['chief'] },
  social: {
    google: { client_id: 'id', client_secret: 'secret' },
    github: { client_id: 'id', client_secret: 'secret' },
  },
}

/** Keys in Laravel's .env file. */
export function keyFile(t: Test, key = appKey): string {
  const file = join(temporaryDirectory(t), '.env')
  writeFileSync(file, `APP_NAME=Laravel\nAPP_KEY=${key}\nDB_PASSWORD=hunter2\n`)
  return `--app-key-file=${file}`
}

/** Runs the command on the database of an app; returns the report. */
export const importFrom = async (svc: TestApp, { url }: LaravelDatabase, ...words: string[]): Promise<Line[]> =>
  (await runCommandOn(svc, 'import:laravel', url, ...words)).map((line) => JSON.parse(line))

export const secret = 'JBSWY3DPEHPK3PXP'
