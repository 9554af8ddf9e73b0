import { sha256Hex } from '../crypto/hash.ts'
import type { Database } from '../plugins/database/database.ts'

/** How many failures a key may have in a window, and what comes after them. */
export interface LimitRule {
  max: number
  /** Milliseconds, from the first failure. */
  window: number
  /** `window`: refused until the window ends. `growing`: 30 s, doubled by each further failure to an hour at most, until a whole window passes without one. */
  block: 'window' | 'growing'
}

/** An attempt that was counted in advance, or the moment (unix ms) until which none is allowed. */
export type Reservation = { allowed: true; failures: number } | { allowed: false; until: number }

/** How a growing block grows, in milliseconds. */
export const growth = { first: 30_000, doublings: 7, longest: 3_600_000 }

/** Counters of failures under names, for every replica together. */
export interface Limits {
  /** Counts an attempt under the name as a failure, or refuses it; `now` in unix milliseconds. */
  reserve(name: string, rule: LimitRule, now: number): Promise<Reservation>
  /** The moment (unix ms) until which the name is refused; null when it is not. */
  blockedUntil(name: string, now: number): Promise<number | null>
  /** Takes one counted attempt back: it was no failure. */
  release(name: string): Promise<void>
  /** Forgets every failure of the name. */
  clear(name: string): Promise<void>
}

/**
 * Counters in the database.
 * An attempt is counted before it is made and taken back when it succeeds: of many parallel guesses no more than
 * `max` reach the password check, because one conditional write decides for each.
 */
export class FailureLimits implements Limits {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async reserve(name: string, rule: LimitRule, now: number): Promise<Reservation> {
    const key = sha256Hex(name)
    const { prisma } = this.#database
    const growing = rule.block === 'growing' ? 1 : 0
    const end = BigInt(now + rule.window)
    const at = BigInt(now)
    const counted = await prisma.$queryRaw<{ failures: number | bigint }[]>`
      INSERT INTO login_limits (key, failures, resets_at, blocked_until)
      VALUES (${key}, 1, CAST(${end} AS BIGINT), CASE WHEN CAST(${rule.max} AS INTEGER) <= 1 THEN CAST(${end} AS BIGINT) ELSE 0 END)
      ON CONFLICT (key) DO UPDATE SET
        failures = CASE WHEN login_limits.resets_at <= CAST(${at} AS BIGINT) THEN 1 ELSE login_limits.failures + 1 END,
        resets_at = CASE
          WHEN login_limits.resets_at <= CAST(${at} AS BIGINT) THEN CAST(${end} AS BIGINT)
          WHEN CAST(${growing} AS INTEGER) = 1 AND login_limits.failures + 1 >= CAST(${rule.max} AS INTEGER) THEN CAST(${end} AS BIGINT)
          ELSE login_limits.resets_at
        END,
        blocked_until = CASE
          WHEN login_limits.resets_at <= CAST(${at} AS BIGINT) THEN excluded.blocked_until
          WHEN login_limits.failures + 1 < CAST(${rule.max} AS INTEGER) THEN 0
          WHEN CAST(${growing} AS INTEGER) = 0 THEN login_limits.resets_at
          WHEN login_limits.failures + 1 >= CAST(${rule.max + growth.doublings} AS INTEGER) THEN CAST(${at + BigInt(growth.longest)} AS BIGINT)
          ELSE CAST(${at} AS BIGINT) + (CAST(${growth.first} AS INTEGER) << (login_limits.failures + 1 - CAST(${rule.max} AS INTEGER)))
        END
      WHERE login_limits.blocked_until <= CAST(${at} AS BIGINT)
      RETURNING failures`
    const failures = counted[0]?.failures
    if (failures !== undefined) return { allowed: true, failures: Number(failures) }
    const row = await prisma.loginLimit.findUnique({ where: { key } })
    return {
      allowed: false,
      until: row ? Number(row.blockedUntil) : now + 1000,
    }
  }

  async blockedUntil(name: string, now: number): Promise<number | null> {
    const row = await this.#database.prisma.loginLimit.findUnique({ where: { key: sha256Hex(name) } })
    return row && row.blockedUntil > now ? Number(row.blockedUntil) : null
  }

  async release(name: string): Promise<void> {
    const { prisma } = this.#database
    const key = sha256Hex(name)
    // A counter of nothing is no counter: refused attempts leave no rows behind.
    const { count } = await prisma.loginLimit.deleteMany({ where: { key, failures: { lte: 1 } } })
    if (count > 0) return
    await prisma.$executeRaw`
      UPDATE login_limits SET failures = failures - 1, blocked_until = 0 WHERE key = ${key} AND failures > 0`
  }

  async clear(name: string): Promise<void> {
    await this.#database.prisma.loginLimit.deleteMany({
      where: { key: sha256Hex(name) },
    })
  }
}
