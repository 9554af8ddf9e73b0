import { sha256Hex } from '../crypto/hash.ts'
import type { Tx } from '../database/database.ts'
import { empty, join, querySql, raw, type Sql, sql } from '../database/sql.ts'
import { type Connection, execute, query, type Statement, type Value } from '../database/statements.ts'
import { type Change, type Counters, growth, type Hit, type LimitRule, type NamedHit } from './counters.ts'

/** Maximum that is passed to the database, whose column has 32 bits. */
const maxCount = 1_000_000_000

const parameters = ({ max, block }: LimitRule) => [Math.min(max, maxCount), block === 'growing' ? 1 : 0]

const parametersOf = ({ name, rule }: NamedHit, now: number): Value[] => [
  sha256Hex(name),
  now + rule.window,
  ...parameters(rule),
]

const allowed = (row: Record<string, unknown>): Hit => ({
  allowed: true,
  count: Number(row.failures),
  resetsAt: Number(row.resets_at),
})

/** Counters in the database, shared by all replicas. */
export class DatabaseCounters implements Counters {
  readonly #database: Connection
  /** Only on PostgreSQL. SQLite has no round trips, and cannot change rows in a WITH clause. */
  readonly hitTogether?: Required<Counters>['hitTogether']
  readonly changeTogether?: Required<Counters>['changeTogether']
  readonly changesIn?: Required<Counters>['changesIn']

  constructor(database: Connection) {
    this.#database = database
    if (database.engine === 'sqlite') return
    this.hitTogether = (hits, now) => this.#hitTogether(hits, now)
    this.changeTogether = (changes) => this.#changeTogether(changes)
    this.changesIn = (changes, after) => ({ name: changesName(changes), sql: changesSql(changes, after) })
  }

  async hit(name: string, rule: LimitRule, now: number): Promise<Hit> {
    const [counted] = await query(this.#database, hit, [now, ...parametersOf({ name, rule }, now)])
    return counted ? allowed(counted) : this.#rejected({ name, rule }, now)
  }

  async #rejected({ name, rule }: NamedHit, now: number): Promise<Hit> {
    return { allowed: false, until: (await this.blockedUntil(name, rule, now)) ?? now + 1000 }
  }

  async #hitTogether(hits: readonly NamedHit[], now: number): Promise<Hit[]> {
    if (hits.length === 0) return []
    const values = [now, ...hits.flatMap((each) => parametersOf(each, now))]
    const counted = (await query(this.#database, chainOf(hits.length), values)).map(allowed)
    const refused = hits[counted.length]
    return refused ? [...counted, await this.#rejected(refused, now)] : counted
  }

  async #changeTogether(changes: readonly Change[]): Promise<void> {
    if (changes.length === 0) return
    const statement = sql`WITH ${changesSql(changes)} SELECT count(*) FROM ${raw(`done${changes.length - 1}`)}`
    await querySql(this.#database, `limit-${changesName(changes)}`, statement)
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

/** Parameters of a hit: key, end of the window, maximum, whether the block grows. The first parameter is the time. */
const perHit = 4

/** Conditional upsert of hit number `index`; only if `before` has a row. See `isBlocked` for the condition. */
function upsert(index: number, before?: string): string {
  const [key, end, max, grows] = ['TEXT', 'BIGINT', 'INTEGER', 'INTEGER'].map(
    (type, i) => `CAST($${2 + perHit * index + i} AS ${type})`,
  )
  const now = 'CAST($1 AS BIGINT)'
  return `
    INSERT INTO login_limits (key, failures, resets_at, blocked_until)
    SELECT ${key}, 1, ${end}, CASE WHEN ${max} <= 1 THEN ${end} ELSE 0 END ${before ? `FROM ${before}` : ''} WHERE true
    ON CONFLICT (key) DO UPDATE SET
      failures = CASE WHEN login_limits.resets_at <= ${now} THEN 1 ELSE login_limits.failures + 1 END,
      resets_at = CASE
        WHEN login_limits.resets_at <= ${now} THEN ${end}
        WHEN ${grows} = 1 AND login_limits.failures + 1 >= ${max} THEN ${end}
        ELSE login_limits.resets_at
      END,
      blocked_until = CASE
        WHEN login_limits.resets_at <= ${now} THEN excluded.blocked_until
        WHEN login_limits.failures + 1 < ${max} THEN 0
        WHEN ${grows} = 0 THEN login_limits.resets_at
        WHEN login_limits.failures + 1 >= ${max} + ${growth.doublings} THEN ${now} + ${growth.maxDelay}
        ELSE ${now} + (${growth.first} << (login_limits.failures + 1 - ${max}))
      END
    WHERE login_limits.blocked_until <= ${now} OR (${grows} = 0 AND login_limits.failures < ${max})
    RETURNING failures, resets_at`
}

const hit: Statement = { name: 'limit-hit', text: upsert(0) }

/** Statements by their number of hits. */
const chains: Statement[] = []

/** Returns one statement for several hits. Each hit runs only if the one before it was counted. PostgreSQL only. */
function chainOf(length: number): Statement {
  const places = Array.from({ length }, (_, i) => i)
  chains[length] ??= {
    name: `limit-hits-${length}`,
    text: `WITH ${places.map((i) => `hit${i} AS (${upsert(i, i > 0 ? `hit${i - 1}` : undefined)})`).join(',')}
      ${places.map((i) => `SELECT ${i} AS place, failures, resets_at FROM hit${i}`).join(' UNION ALL ')}
      ORDER BY place`,
  }
  return chains[length]
}

/** Parts of the statement that takes hits back, in the order of the changes. Each part waits for the ones before it. */
function partsOf({ name, change }: Change, index: number, before: Sql): Sql {
  const key = sql`CAST(${sha256Hex(name)} AS TEXT)`
  const [gone, less, done] = ['gone', 'less', 'done'].map((part) => raw(`${part}${index}`))
  if (change === 'reset') return sql`${done} AS (DELETE FROM login_limits WHERE key = ${key} ${before} RETURNING key)`
  return sql`
    ${gone} AS (DELETE FROM login_limits WHERE key = ${key} AND failures <= 1 ${before} RETURNING key),
    ${less} AS (UPDATE login_limits SET failures = failures - 1, blocked_until = 0
      WHERE key = ${key} AND failures > 0 AND NOT EXISTS (SELECT 1 FROM ${gone}) RETURNING key),
    ${done} AS (SELECT key FROM ${gone} UNION ALL SELECT key FROM ${less})`
}

const follows = (part: string): Sql => sql`AND (SELECT count(*) FROM ${raw(part)}) >= 0`

/** The changes in their order, so that two statements never wait for each other. `after` names the part before them. */
const changesSql = (changes: readonly Change[], after?: string): Sql =>
  join(
    changes.map((change, index) =>
      partsOf(change, index, index > 0 ? follows(`done${index - 1}`) : after === undefined ? empty : follows(after)),
    ),
  )

const changesName = (changes: readonly Change[]): string => changes.map(({ change }) => change).join('-')

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
