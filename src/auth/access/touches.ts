import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../platform/clock.ts'
import type { CurrentConfig } from '../../platform/config/current.ts'
import type { Database } from '../../platform/database/database.ts'
import { arrayLiteral } from '../../platform/database/statements.ts'

/** Minimum interval between recorded uses of a token or session, in milliseconds. */
const recordInterval = 60_000

/** Interval between batched writes, in milliseconds. */
const writeInterval = 2_000

/** Maximum number of ids in one statement. */
const maxBatch = 1_000

/** Records when tokens and sessions were last used: collected in memory, written in batches after the request. */
export class Touches {
  readonly #database: Database
  readonly #clock: Clock
  readonly #config: CurrentConfig
  readonly #log: FastifyBaseLogger
  readonly #timer: NodeJS.Timeout
  #tokens = new Set<bigint>()
  #sessions = new Set<string>()
  #writing: Promise<void> = Promise.resolve()

  constructor(parts: { database: Database; clock: Clock; config: CurrentConfig; log: FastifyBaseLogger }) {
    this.#database = parts.database
    this.#clock = parts.clock
    this.#config = parts.config
    this.#log = parts.log
    this.#timer = setInterval(() => void this.flush(), writeInterval).unref()
  }

  /** Records the use of a token; `last` is its stored last use in Unix milliseconds. */
  token(id: bigint, last: number | null): void {
    if (last === null || this.#clock.now() - last >= recordInterval) this.#tokens.add(id)
  }

  /** Records the use of a session; `last` is its stored last use in Unix milliseconds. */
  session(id: string, last: number): void {
    if (this.#clock.now() - last >= this.#sessionInterval()) this.#sessions.add(id)
  }

  /** Returns the interval for sessions: well below their lifetime, so that an active session does not expire. */
  #sessionInterval(): number {
    return Math.min(recordInterval, this.#config.current().session.lifetime / 2)
  }

  /** Writes the collected uses. A failure is logged and loses only timestamps. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  /** Writes the remaining uses and stops. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #write(): Promise<void> {
    const tokens = [...this.#tokens].map(String)
    const sessions = [...this.#sessions]
    this.#tokens = new Set()
    this.#sessions = new Set()
    try {
      for (let i = 0; i < tokens.length; i += maxBatch) await this.#writeTokens(tokens.slice(i, i + maxBatch))
      for (let i = 0; i < sessions.length; i += maxBatch) await this.#writeSessions(sessions.slice(i, i + maxBatch))
    } catch (error) {
      this.#log.warn({ err: error }, 'could not record the last use of tokens and sessions')
    }
  }

  // The statement checks the interval again, because other replicas may have written meanwhile. It skips rows that
  // another replica locks.
  #writeTokens(ids: string[]): Promise<number> {
    const { prisma, engine } = this.#database
    const now = new Date(this.#clock.now())
    const due = new Date(this.#clock.now() - recordInterval)
    return engine === 'postgresql'
      ? prisma.$executeRaw`UPDATE personal_access_tokens SET last_used_at = ${now} WHERE id IN
          (SELECT id FROM personal_access_tokens
            WHERE id = ANY(CAST(${arrayLiteral(ids)} AS BIGINT[]))
              AND (last_used_at IS NULL OR last_used_at <= ${due}) FOR NO KEY UPDATE SKIP LOCKED)`
      : prisma.$executeRaw`UPDATE personal_access_tokens SET last_used_at = ${now}
          WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(${JSON.stringify(ids)}))
            AND (last_used_at IS NULL OR last_used_at <= ${due})`
  }

  #writeSessions(ids: string[]): Promise<number> {
    const { prisma, engine } = this.#database
    const now = new Date(this.#clock.now())
    const due = new Date(this.#clock.now() - this.#sessionInterval())
    return engine === 'postgresql'
      ? prisma.$executeRaw`UPDATE sessions SET last_seen_at = ${now} WHERE id IN
          (SELECT id FROM sessions
            WHERE id = ANY(CAST(${arrayLiteral(ids)} AS TEXT[]))
              AND last_seen_at <= ${due} FOR NO KEY UPDATE SKIP LOCKED)`
      : prisma.$executeRaw`UPDATE sessions SET last_seen_at = ${now}
          WHERE id IN (SELECT value FROM json_each(${JSON.stringify(ids)})) AND last_seen_at <= ${due}`
  }
}
