import { passwordFingerprint } from '../../src/auth/access/password-fingerprint.ts'
import { sha256Hex } from '../../src/platform/crypto/hash.ts'
import { preparePostgresql } from '../../src/platform/database/postgresql.ts'
import { openSqliteConnection, prepareSqliteFile } from '../../src/platform/database/sqlite.ts'
import { withClient } from './postgresql.ts'

/** The number of rows. */
export interface Amounts {
  users: number
  tokens: number
  sessions: number
}

// Secrets are derived from the numbers, so that rows and requests match.
const tokenPad = ['bench', 43] as const
const sessionPad = ['session', 36] as const
const padded = ([word, width]: readonly [string, number], n: number): string => word + String(n).padStart(width, '0')
const paddedSql = ([word, width]: readonly [string, number]) => `'${word}' || lpad(i::text, ${width}, '0')`

/** The secret of the token with this id. */
export const tokenSecret = (id: number): string => padded(tokenPad, id)

/** The id in the cookie of the session with this number. */
export const sessionId = (n: number): string => padded(sessionPad, n)

export const emailOf = (user: number): string => `user${user}@example.com`

/** The owner of a token or session. Consecutive rows belong to users that are far apart in their table. */
const owner = (n: number, users: number): number => 1 + ((n * 7919) % users)

const utc = "(now() AT TIME ZONE 'utc')"
/** Spreads last uses over the last minute, as on a server that has run for a while. */
const lately = `${utc} - random() * interval '60 seconds'`

/** Migrates the database and fills the tables. */
export async function fillPostgresql(
  url: string,
  { users, tokens, sessions }: Amounts,
  passwordHash: string,
): Promise<void> {
  await preparePostgresql(url)
  await withClient(url, async (client) => {
    await client.query(
      `INSERT INTO users (id, name, email, email_verified_at, password, created_at, updated_at)
       SELECT i, 'User ' || i, 'user' || i || '@example.com', ${utc}, $1, ${utc}, ${utc} FROM generate_series(1, $2::int) i`,
      [passwordHash, users],
    )
    await client.query(
      `INSERT INTO personal_access_tokens
         (id, tokenable_type, tokenable_id, name, token, abilities, last_used_at, created_at, updated_at)
       SELECT i, 'user', 1 + (i::bigint * 7919) % $2, 'device ' || i,
         encode(sha256((${paddedSql(tokenPad)})::bytea), 'hex'), '["*"]', ${lately}, ${utc}, ${utc}
       FROM generate_series(1, $1::int) i`,
      [tokens, users],
    )
    await client.query(
      `INSERT INTO sessions (id, public_id, user_id, password_mark, ip_address, user_agent, created_at, last_seen_at)
       SELECT encode(sha256((${paddedSql(sessionPad)})::bytea), 'hex'), 'public' || lpad(i::text, 37, '0'),
         1 + (i::bigint * 7919) % $2, $3, '127.0.0.1', 'bench', ${utc}, ${lately}
       FROM generate_series(1, $1::int) i`,
      [sessions, users, passwordFingerprint(passwordHash)],
    )
    for (const table of ['users', 'personal_access_tokens']) {
      await client.query(`SELECT setval('${table}_id_seq', (SELECT max(id) FROM ${table}))`)
    }
    await client.query('VACUUM ANALYZE')
    await client.query('CHECKPOINT')
  })
}

/** Spreads the last uses of every `each`-th token and of all sessions over the last minute again, and deletes queued mails. */
export async function settlePostgresql(url: string, each: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(`UPDATE personal_access_tokens SET last_used_at = ${lately} WHERE id % $1 = 0`, [each])
    await client.query(`UPDATE sessions SET last_seen_at = ${lately}`)
    // Mails that an earlier benchmark queued would be sent during this one.
    await client.query('TRUNCATE outbox')
    await client.query('VACUUM ANALYZE personal_access_tokens, sessions')
    await client.query('CHECKPOINT')
  })
}

/** The same users and tokens in a SQLite file. */
export async function fillSqlite(
  file: string,
  { users, tokens }: Pick<Amounts, 'users' | 'tokens'>,
  passwordHash: string,
): Promise<void> {
  await prepareSqliteFile(file)
  const db = openSqliteConnection(file)
  const at = (time: number) => new Date(time).toISOString().replace('Z', '+00:00')
  const now = Date.now()
  db.exec('BEGIN')
  const user = db.prepare(
    `INSERT INTO users (id, name, email, email_verified_at, password, role, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, 'user', ?, ?)`,
  )
  for (let i = 1; i <= users; i++) user.run([i, `User ${i}`, emailOf(i), at(now), passwordHash, at(now), at(now)])
  const token = db.prepare(
    `INSERT INTO personal_access_tokens
       (id, tokenable_type, tokenable_id, name, token, abilities, last_used_at, created_at, updated_at)
     VALUES (?, 'user', ?, ?, ?, '["*"]', ?, ?, ?)`,
  )
  for (let i = 1; i <= tokens; i++) {
    const used = at(now - Math.random() * 60_000)
    token.run([i, owner(i, users), `device ${i}`, sha256Hex(tokenSecret(i)), used, at(now), at(now)])
  }
  db.exec('COMMIT')
  db.exec('ANALYZE')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}
