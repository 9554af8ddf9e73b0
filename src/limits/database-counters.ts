import { sha256Hex } from '../crypto/hash.ts'
import type { Tx } from '../database/database.ts'
import { type Connection, execute, query, type Statement } from '../database/statements.ts'
import { type Counters, growth, type Hit, type LimitRule } from './counters.ts'

/** The column has 32 bits. */
const maxCount = 1_000_000_000

const parameters = ({ max, block }: LimitRule) => [Math.min(max, maxCount), block === 'growing' ? 1 : 0]

/** Counters in the database, shared by all replicas. */
export class DatabaseCounters implements Counters {
  readonly #database: Connection

  constructor(database: Connection) {
    this.#database = database
  }

  async hit(name: string, rule: LimitRule, now: number): Promise<Hit> {
    const [counted] = await query(this.#database, hit, [sha256Hex(name), now, now + rule.window, ...parameters(rule)])
    if (counted) return { allowed: true, count: Number(counted.failures), resetsAt: Number(counted.resets_at) }
    return { allowed: false, until: (await this.blockedUntil(name, rule, now)) ?? now + 1000 }
  }

  async blockedUntil(name: string, rule: LimitRule, now: number): Promise<number | null> {
    const [row] = await query(this.#database, blocked, [sha256Hex(name), now, ...parameters(rule)])
    return row ? Number(row.blocked_until) : null
  }

  async undo(name: string): Promise<void> {
    const key = sha256Hex(name)
    // Deletes a counter of zero, so that rejected attempts leave no rows.
    if ((await execute(this.#database, deleteLast, [key])) === 0) await execute(this.#database, decrease, [key])
  }

  async reset(name: string): Promise<void> {
    await execute(this.#database, deleteAll, [sha256Hex(name)])
  }

  within(tx: Tx): Counters {
    return new DatabaseCounters({ engine: this.#database.engine, prisma: tx })
  }
}

/** $1 key, $2 now, $3 end of the window, $4 maximum, $5 whether the block grows. See `isBlocked` for the condition. */
const hit: Statement = {
  name: 'limit-hit',
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
      OR (CAST($5 AS INTEGER) = 0 AND login_limits.failures < CAST($4 AS INTEGER))
    RETURNING failures, resets_at`,
}

const blocked: Statement = {
  name: 'limit-blocked',
  text: `
    SELECT blocked_until FROM login_limits
    WHERE key = $1 AND blocked_until > CAST($2 AS BIGINT)
      AND (CAST($4 AS INTEGER) = 1 OR failures >= CAST($3 AS INTEGER))`,
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
