import { sha256Hex } from '../../../crypto/hash.ts'
import type { Database } from '../../../plugins/database/database.ts'

/** A record as it is written; hashes are SHA-256 in hex, times unix milliseconds. */
export interface NewRecord {
  id: string
  kind: string
  payload: string
  grantHash: string | null
  codeHash: string | null
  uidHash: string | null
  userId: bigint | null
  sessionId: string | null
  expiresAt: number | null
}

type Value = string | number | bigint | null

/** The key of a record: what a client holds is never in the database. */
export const recordId = (kind: string, identifier: string): string => sha256Hex(`${kind}\0${identifier}`)

const columns = '(id, kind, payload, grant_hash, code_hash, uid_hash, user_id, session_id, expires_at)'
const places = '($1, $2, $3, $4, $5, $6, $7, $8, $9)'
const updates = `payload = excluded.payload, grant_hash = excluded.grant_hash, user_id = excluded.user_id,
  session_id = excluded.session_id, expires_at = excluded.expires_at`

/** Writes of the OAuth server: single statements, prepared once, past the ORM, which would cost more than all the rest. */
export class RecordStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Inserts the record, or brings the one of its id up to date. */
  async put(record: NewRecord): Promise<void> {
    await this.#run(
      'oauth-put',
      `INSERT INTO oauth_records ${columns} VALUES ${places} ON CONFLICT (id) DO UPDATE SET ${updates}`,
      valuesOf(record),
    )
  }

  /** Inserts the record unless there is one of its id; true when it was inserted. */
  async insert(record: NewRecord): Promise<boolean> {
    const sql = `INSERT INTO oauth_records ${columns} VALUES ${places} ON CONFLICT (id) DO NOTHING`
    return (await this.#run('oauth-insert', sql, valuesOf(record))) > 0
  }

  /** Notes that something was used, until its end (unix ms); false when it was before, at whichever replica. */
  useOnce(name: string, expiresAt: number): Promise<boolean> {
    const kind = 'ReplayDetection'
    const rest = { grantHash: null, codeHash: null, uidHash: null, userId: null, sessionId: null }
    return this.insert({ id: recordId(kind, name), kind, payload: '{}', ...rest, expiresAt })
  }

  /** Uses a record up; false when it was used before or is gone. */
  async consume(id: string, now: number): Promise<boolean> {
    const sql = 'UPDATE oauth_records SET consumed_at = $2 WHERE id = $1 AND consumed_at IS NULL'
    return (await this.#run('oauth-consume', sql, [id, now])) > 0
  }

  async destroy(id: string): Promise<void> {
    await this.#run('oauth-destroy', 'DELETE FROM oauth_records WHERE id = $1', [id])
  }

  /** Deletes every record of the grant. */
  async destroyByGrant(grantHash: string): Promise<void> {
    await this.#run('oauth-destroy-grant', 'DELETE FROM oauth_records WHERE grant_hash = $1', [grantHash])
  }

  /** Notes that something was asked; false when it was asked less than so many milliseconds ago. */
  async poll(id: string, now: number, interval: number): Promise<boolean> {
    const sql = `INSERT INTO oauth_records (id, kind, payload, expires_at) VALUES ($1, 'DevicePoll', '{}', $2)
      ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at WHERE oauth_records.expires_at <= $3`
    return (await this.#run('oauth-poll', sql, [id, now + interval, now])) > 0
  }

  /** Refuses a JWT until its end. */
  async deny(jti: string, expiresAt: number): Promise<void> {
    const sql = 'INSERT INTO oauth_denials (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING'
    await this.#run('oauth-deny', sql, [sha256Hex(jti), expiresAt])
  }

  /** Deletes a batch of records and denials that ended; answers how many. */
  async prune(now: number, batch: number): Promise<number> {
    const ended = (table: string) =>
      `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE expires_at < $1 LIMIT $2)`
    const records = await this.#run('oauth-prune', ended('oauth_records'), [now, batch])
    return records + (await this.#run('oauth-prune-denials', ended('oauth_denials'), [now, batch]))
  }

  async #run(name: string, text: string, values: Value[]): Promise<number> {
    const { pg, prisma } = this.#database
    if (pg) return (await pg.query({ name, text, values })).rowCount ?? 0
    return prisma.$executeRawUnsafe(text.replaceAll('$', '?'), ...values)
  }
}

const valuesOf = (record: NewRecord): Value[] => [
  record.id,
  record.kind,
  record.payload,
  record.grantHash,
  record.codeHash,
  record.uidHash,
  record.userId,
  record.sessionId,
  record.expiresAt,
]
