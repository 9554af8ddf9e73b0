import { sha256Hex } from '../crypto/hash.ts'
import type { Tx } from '../database/database.ts'
import { type Connection, execute, query, type Statement } from '../database/statements.ts'

/** Maximum failures per window, and the block that follows. */
export interface LimitRule {
  max: number
  /** Milliseconds, from the first failure. */
  window: number
  /**
   * `window`: blocked until the window ends. `growing`: blocked for 30 s, doubled by each failure up to one hour, until
   * a whole window passes without one.
   */
  block: 'window' | 'growing'
}

/** A reserved attempt, or the time (Unix ms) until which attempts are blocked. */
export type Reservation = { allowed: true; failures: number } | { allowed: false; until: number }

/** Growth of a growing block, in milliseconds. */
export const growth = { first: 30_000, doublings: 7, maxDelay: 3_600_000 }

/** Failure counters by name, shared by all replicas. */
export interface Limits {
  /** Counts an attempt as failed, or rejects it; `now` in Unix milliseconds. */
  reserve(name: string, rule: LimitRule, now: number): Promise<Reservation>
  /** Returns the time (Unix ms) until which the name is blocked, or null. */
  blockedUntil(name: string, now: number): Promise<number | null>
  /** Takes back one attempt that did not fail. */
  release(name: string): Promise<void>
  /** Clears the failures of the name. */
  clear(name: string): Promise<void>
  /** The same counters inside a transaction: database counts roll back with it. */
  within(tx: Tx): Limits
}

/**
 * Counters in the database. An attempt counts before it is made and is taken back on success. One conditional write
 * decides for each, so at most `max` of many parallel guesses reach the password check.
 */
export class FailureLimits implements Limits {
  readonly #database: Connection

  constructor(database: Connection) {
    this.#database = database
  }

  async reserve(name: string, rule: LimitRule, now: number): Promise<Reservation> {
    const key = sha256Hex(name)
    const { max, window, block } = rule
    const [counted] = await query(this.#database, reserve, [key, now, now + window, max, block === 'growing' ? 1 : 0])
    if (counted) return { allowed: true, failures: Number(counted.failures) }
    return { allowed: false, until: (await this.blockedUntil(name, now)) ?? now + 1000 }
  }

  async blockedUntil(name: string, now: number): Promise<number | null> {
    const [row] = await query(this.#database, blocked, [sha256Hex(name), now])
    return row ? Number(row.blocked_until) : null
  }

  async release(name: string): Promise<void> {
    const key = sha256Hex(name)
    // Deletes a counter of zero, so that rejected attempts leave no rows.
    if ((await execute(this.#database, deleteLast, [key])) === 0) await execute(this.#database, decrease, [key])
  }

  async clear(name: string): Promise<void> {
    await execute(this.#database, deleteAll, [sha256Hex(name)])
  }

  within(tx: Tx): Limits {
    return new FailureLimits({ engine: this.#database.engine, prisma: tx })
  }
}

/** $1 key, $2 now, $3 end of the window, $4 maximum failures, $5 whether the block grows. */
const reserve: Statement = {
  name: 'limit-reserve',
  text: `
    INSERT INTO login_limits (key, failures, resets_at, blocked_until)
    VALUES ($1, 1, CAST($3 AS BIGINT), CASE WHEN CAST($4 AS INTEGER) <= 1 THEN CAST($3 AS BIGINT) ELSE 0 END)
    ON CONFLICT (key) DO UPDATE SET
      failures = CASE WHEN login_limits.resets_at <= CAST($2 AS BIGINT) THEN 1 ELSE login_limits.failures + 1 END,
      resets_at = CASE
        WHEN login_limits.resets_at <= CAST($2 AS BIGINT) THEN CAST($3 AS BIGINT)
        WHEN CAST($5 AS INTEGER) = 1 AND login_limits.failures + 1 >= CAST($4 AS INTEGER) THEN CAST($3 AS BIGINT)
        ELSE login_limits.resets_at
      END,
      blocked_until = CASE
        WHEN login_limits.resets_at <= CAST($2 AS BIGINT) THEN excluded.blocked_until
        WHEN login_limits.failures + 1 < CAST($4 AS INTEGER) THEN 0
        WHEN CAST($5 AS INTEGER) = 0 THEN login_limits.resets_at
        WHEN login_limits.failures + 1 >= CAST($4 AS INTEGER) + ${growth.doublings}
          THEN CAST($2 AS BIGINT) + ${growth.maxDelay}
        ELSE CAST($2 AS BIGINT) + (${growth.first} << (login_limits.failures + 1 - CAST($4 AS INTEGER)))
      END
    WHERE login_limits.blocked_until <= CAST($2 AS BIGINT)
    RETURNING failures`,
}

const blocked: Statement = {
  name: 'limit-blocked',
  text: 'SELECT blocked_until FROM login_limits WHERE key = $1 AND blocked_until > CAST($2 AS BIGINT)',
}

const deleteLast: Statement = {
  name: 'limit-delete-last',
  text: 'DELETE FROM login_limits WHERE key = $1 AND failures <= 1',
}

const decrease: Statement = {
  name: 'limit-decrease',
  text: 'UPDATE login_limits SET failures = failures - 1, blocked_until = 0 WHERE key = $1 AND failures > 0',
}

const deleteAll: Statement = { name: 'limit-delete', text: 'DELETE FROM login_limits WHERE key = $1' }
