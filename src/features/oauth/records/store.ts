import { lockUsers } from '../../../identity/lock.ts'
import { sha256Hex } from '../../../platform/crypto/hash.ts'
import { deleteOutdated } from '../../../platform/database/batches.ts'
import type { Database, Tx } from '../../../platform/database/database.ts'
import { execute, query, type Value } from '../../../platform/database/statements.ts'
import type { SealedRecord } from './record-seal.ts'
import { columns, type JoiningWriter, type NewRecord, type Owner, valuesOf } from './records.ts'

/** Key of a record. The database stores only the hash of an identifier. */
export const recordId = (kind: string, identifier: string): string => sha256Hex(`${kind}\0${identifier}`)

const places = '($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)'
const updates = `payload = excluded.payload, grant_hash = excluded.grant_hash, user_id = excluded.user_id,
  session_id = excluded.session_id, expires_at = excluded.expires_at`

/** An extension adds an hour, in milliseconds, so that not every token writes. */
const extendedBy = 3_600_000

const extension = 'UPDATE oauth_records SET expires_at = $2 WHERE expires_at < $3 AND'

/** Writes of the OAuth server: single prepared statements. The ORM would cost more than the rest of a request. */
export class RecordStore {
  readonly #database: Database
  /** Joins the writes of code flows and refreshes. Null on SQLite. */
  readonly #joint: JoiningWriter | null

  constructor(database: Database, joint: JoiningWriter | null) {
    this.#database = database
    this.#joint = joint
  }

  /** Inserts or updates a record. */
  async put(record: NewRecord): Promise<void> {
    await this.#run(
      'oauth-put',
      `INSERT INTO oauth_records ${columns} VALUES ${places} ON CONFLICT (id) DO UPDATE SET ${updates}`,
      valuesOf(record),
    )
  }

  /** Inserts a record; false if its id, or the uid of a session, exists. */
  async insert(record: NewRecord): Promise<boolean> {
    const sql = `INSERT INTO oauth_records ${columns} VALUES ${places} ON CONFLICT DO NOTHING`
    return (await this.#run('oauth-insert', sql, valuesOf(record))) > 0
  }

  /**
   * Inserts a record of a browser session; false if that session no longer belongs to the user or was renewed, or if the
   * record exists. Locks the browser session, so that it cannot end during the insert.
   */
  async insertOf({ publicId, rowId }: Owner, record: NewRecord): Promise<boolean> {
    const sql = `INSERT INTO oauth_records ${columns}
      SELECT $1, $2, $3, $4, $5, $6, CAST($7 AS BIGINT), $8, CAST($9 AS BIGINT), $10
      WHERE ${this.#isOwner('$11', '$7', '$12')}
      ON CONFLICT DO NOTHING`
    return (await this.#run('oauth-insert-of', sql, [...valuesOf(record), publicId, rowId])) > 0
  }

  /** Inserts a grant of a browser session as `insertOf` does, and its code. */
  async insertGranted(owner: Owner, grant: NewRecord, code: NewRecord): Promise<boolean> {
    if (this.#joint) return this.#joint.grant({ owner, grant, code })
    return (await this.insertOf(owner, grant)) && (await this.insert(code))
  }

  /**
   * Updates a record, possibly its id too; false if the record ended or its payload changed since it was read (null
   * skips that check). Changes the browser session only to one of the user. Never shortens the lifetime.
   */
  async replace(id: string, read: string | null, record: NewRecord): Promise<boolean> {
    const sql = `UPDATE oauth_records SET id = $2, payload = $3, user_id = $4, session_id = $5,
      expires_at = CASE WHEN expires_at > $6 THEN expires_at ELSE $6 END
      WHERE id = $1 AND (payload = $7 OR $7 IS NULL) AND (session_id = $5 OR $5 IS NULL OR ${this.#isOwner('$5', '$4')})`
    const { payload, userId, sessionId, expiresAt } = record
    return (await this.#run('oauth-replace', sql, [id, record.id, payload, userId, sessionId, expiresAt, read])) > 0
  }

  /** Current session by the hash of its uid. */
  async findSession(uidHash: string): Promise<SealedRecord | null> {
    const text = "SELECT id, payload FROM oauth_records WHERE uid_hash = $1 AND kind = 'Session'"
    const [row] = await query(this.#database, { name: 'oauth-session', text }, [uidHash])
    return row ? { id: String(row.id), payload: String(row.payload) } : null
  }

  /** Extends a grant to at least this time (unix ms). */
  async extendGrant(id: string, until: number): Promise<void> {
    await this.#run('oauth-extend', `${extension} id = $1`, [id, until + extendedBy, until])
  }

  /** Extends a session as `extendGrant` does. The two are separate statements, because one that locks both rows can deadlock. */
  async extendSession(uidHash: string, until: number): Promise<void> {
    await this.#run('oauth-extend-session', `${extension} uid_hash = $1`, [uidHash, until + extendedBy, until])
  }

  /** Consumes a record; false if it was used before or does not exist. */
  async consume(id: string, now: number): Promise<boolean> {
    if (this.#joint) return this.#joint.use({ usedId: id, now })
    const sql = 'UPDATE oauth_records SET consumed_at = $2 WHERE id = $1 AND consumed_at IS NULL'
    return (await this.#run('oauth-consume', sql, [id, now])) > 0
  }

  /** Consumes a refresh token and inserts its successor, if no concurrent request did. */
  async rotate(id: string, now: number, successor: NewRecord): Promise<void> {
    if (this.#joint) return this.#joint.rotate({ usedId: id, now, successor })
    await this.consume(id, now)
    await this.insert(successor)
  }

  /**
   * Consumes a code, inserts its refresh token and extends its grant as `extendGrant` does. Null if the code was used
   * before or does not exist, otherwise whether the grant was extended.
   */
  async exchange(
    id: string,
    now: number,
    successor: NewRecord,
    grant: { id: string; until: number },
  ): Promise<{ isExtended: boolean } | null> {
    if (this.#joint) {
      const extension = { id: grant.id, before: grant.until, until: grant.until + extendedBy }
      return this.#joint.exchange({ usedId: id, now, successor, extension })
    }
    if (!(await this.consume(id, now))) return null
    await this.insert(successor)
    return { isExtended: false }
  }

  /** Consumes a record and removes its payload; false if it was used before or does not exist. */
  async finish(id: string, now: number): Promise<boolean> {
    const sql = "UPDATE oauth_records SET consumed_at = $2, payload = '{}' WHERE id = $1 AND consumed_at IS NULL"
    return (await this.#run('oauth-finish', sql, [id, now])) > 0
  }

  async destroy(id: string): Promise<void> {
    await this.#run('oauth-destroy', 'DELETE FROM oauth_records WHERE id = $1', [id])
  }

  /** Deletes every record of the grant. */
  async destroyByGrant(grantHash: string): Promise<void> {
    const where = { grantHash }
    await this.#database.transaction(async (tx) => {
      await lockOwners(this.#database, tx, where)
      await tx.oauthRecord.deleteMany({ where })
    })
  }

  /** Denies a JWT until it expires. */
  async deny(jti: string, expiresAt: number): Promise<void> {
    const sql = 'INSERT INTO oauth_denials (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING'
    await this.#run('oauth-deny', sql, [sha256Hex(jti), expiresAt])
  }

  /** Deletes expired records and denials. */
  async prune(now: number): Promise<void> {
    await deleteOutdated(this.#database, { table: 'oauth_records', date: 'expires_at', before: now })
    await deleteOutdated(this.#database, { table: 'oauth_denials', date: 'expires_at', before: now })
  }

  /** Reads a batch of records after an id, by id. The payload is null if it has the prefix, or is empty. */
  async listUnsealed(prefix: string, after: string, batch: number): Promise<{ id: string; payload: string | null }[]> {
    const text = `SELECT id, CASE WHEN payload NOT LIKE $3 AND payload <> '{}' THEN payload END AS payload
      FROM oauth_records WHERE id > $1 ORDER BY id LIMIT $2`
    const rows = await query(this.#database, { name: 'oauth-unsealed', text }, [after, batch, `${prefix}%`])
    return rows.map(({ id, payload }) => ({ id: String(id), payload: payload === null ? null : String(payload) }))
  }

  /** Replaces a payload unless the record changed since it was read. */
  async replacePayload({ id, payload }: SealedRecord, sealed: string): Promise<void> {
    const sql = 'UPDATE oauth_records SET payload = $3 WHERE id = $1 AND payload = $2'
    await this.#run('oauth-replace-payload', sql, [id, payload, sealed])
  }

  /** Tests whether a browser session belongs to the user. On PostgreSQL, locks it until the statement ends. */
  #isOwner(publicId: string, userId: string, rowId?: string): string {
    const lock = this.#database.pg ? 'FOR KEY SHARE' : ''
    const isRead = rowId ? `AND (id = ${rowId} OR CAST(${rowId} AS TEXT) IS NULL)` : ''
    return `EXISTS (SELECT 1 FROM sessions
      WHERE public_id = ${publicId} AND user_id = CAST(${userId} AS BIGINT) ${isRead} ${lock})`
  }

  #run(name: string, text: string, values: Value[]): Promise<number> {
    return execute(this.#database, { name, text }, values)
  }
}

/** Denies a JWT until it expires (unix ms), as part of the transaction. */
export async function denyToken(tx: Tx, jti: string, expiresAt: number): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO oauth_denials (id, expires_at) VALUES (${sha256Hex(jti)}, ${BigInt(expiresAt)}) ON CONFLICT (id) DO NOTHING`
}

type Owned = { id: string } | { grantHash: string } | { parentHash: string }

/** Users of these records. */
export async function ownersOf(tx: Tx, where: Owned): Promise<number[]> {
  const rows = await tx.oauthRecord.findMany({ where, distinct: ['userId'], select: { userId: true } })
  return rows.flatMap(({ userId }) => (userId === null ? [] : [Number(userId)]))
}

/**
 * Locks the users of these records until the transaction ends. A transaction that deletes several records does so first:
 * users come before sessions and sessions before records, so that no two transactions wait for each other.
 */
export async function lockOwners(database: Pick<Database, 'engine'>, tx: Tx, where: Owned): Promise<void> {
  await lockUsers(database, tx, await ownersOf(tx, where))
}
