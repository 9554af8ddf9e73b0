import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { CurrentConfig } from '../config/current.ts'
import type { Database } from '../database/database.ts'

/** A use is noted at most this often for each token and session. */
const noteEvery = 60_000

/** How long notes gather before they are written together. */
const writeEvery = 2_000

/** The most ids in one statement. */
const maxBatch = 1_000

/** Notes when tokens and sessions were last used: gathered in memory, written in batches off the request's path. */
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
    this.#timer = setInterval(() => void this.flush(), writeEvery).unref()
  }

  /** A token was used; `last` is its noted last use in unix milliseconds. */
  token(id: bigint, last: number | null): void {
    if (last === null || this.#clock.now() - last >= noteEvery) this.#tokens.add(id)
  }

  /** A session was used; `last` is its noted last use in unix milliseconds. */
  session(id: string, last: number): void {
    if (this.#clock.now() - last >= this.#sessionEvery()) this.#sessions.add(id)
  }

  /** Well within the lifetime, or a session in use would end with it. */
  #sessionEvery(): number {
    return Math.min(noteEvery, this.#config.current().session.lifetime * 30_000)
  }

  /** Writes what was noted so far; a failure loses only notes, and is logged. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  /** Writes the rest and stops. */
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
      this.#log.warn({ err: error }, 'could not note when tokens and sessions were last used')
    }
  }

  // A minute is checked again by the row, for the uses that other requests and replicas noted meanwhile; a row that
  // another replica is just writing is left to it, so that none waits for another.
  #writeTokens(ids: string[]): Promise<number> {
    const { prisma, engine } = this.#database
    const now = new Date(this.#clock.now())
    const due = new Date(this.#clock.now() - noteEvery)
    const list = JSON.stringify(ids)
    return engine === 'postgresql'
      ? prisma.$executeRaw`UPDATE personal_access_tokens SET last_used_at = ${now} WHERE id IN
          (SELECT id FROM personal_access_tokens
            WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_array_elements_text(CAST(${list} AS json)))
              AND (last_used_at IS NULL OR last_used_at <= ${due}) FOR NO KEY UPDATE SKIP LOCKED)`
      : prisma.$executeRaw`UPDATE personal_access_tokens SET last_used_at = ${now}
          WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(${list}))
            AND (last_used_at IS NULL OR last_used_at <= ${due})`
  }

  #writeSessions(ids: string[]): Promise<number> {
    const { prisma, engine } = this.#database
    const now = new Date(this.#clock.now())
    const due = new Date(this.#clock.now() - this.#sessionEvery())
    const list = JSON.stringify(ids)
    return engine === 'postgresql'
      ? prisma.$executeRaw`UPDATE sessions SET last_seen_at = ${now} WHERE id IN
          (SELECT id FROM sessions
            WHERE id IN (SELECT value FROM json_array_elements_text(CAST(${list} AS json)))
              AND last_seen_at <= ${due} FOR NO KEY UPDATE SKIP LOCKED)`
      : prisma.$executeRaw`UPDATE sessions SET last_seen_at = ${now}
          WHERE id IN (SELECT value FROM json_each(${list})) AND last_seen_at <= ${due}`
  }
}
