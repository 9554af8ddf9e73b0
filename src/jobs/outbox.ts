import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import type { CurrentConfig } from '../config/current.ts'
import type { Cipher } from '../crypto/cipher.ts'
import { deriveCipher } from '../crypto/keys.ts'
import type { Database, Tx } from '../database/database.ts'
import { type Claimed, claimWork, insertWork } from './outbox-rows.ts'
import { type WorkState, workStates } from './outbox-state.ts'

/** One attempt to run a job. */
export interface Delivery {
  id: bigint
  /** Includes this attempt. */
  attempts: number
  /** Number of merged causes. */
  times: number
  /** Aborted on timeout or shutdown; the job is then retried. */
  signal: AbortSignal
}

/** Runs a job. It may throw, and must tolerate a second call after a crash. */
type Handler<Payload> = (payload: Payload, delivery: Delivery) => Promise<void>

/** Thrown by a handler when a retry cannot succeed. */
export class UndeliverableError extends Error {}

/** When a job is due, and what it merges with. */
interface Timing {
  /** Unix milliseconds. Default: now. */
  at?: number
  /** Key of equal jobs. If one is pending, its payload is replaced and its count incremented. */
  mergeKey?: string
  /** Owner of the data in the payload; the job is deleted with the account. */
  userId?: number | null
}

/** Timeout of one attempt in milliseconds. */
const workTimeout = 60_000

/** Duration of a claim: twice the timeout, to tolerate clock differences. */
const lease = 2 * workTimeout

/** Maximum number of concurrent jobs per process. */
const atOnce = 5

/** Number and interval of attempts to record a success, in milliseconds; within the lease. */
const notes = { tries: 20, every: 2_000 }

/** Delay before a new job starts, in milliseconds, so that its transaction can commit. */
const soon = 50

/** Polling interval for retries and jobs of other processes, in milliseconds. */
const lookEvery = 5_000

/** How long closing waits before it aborts running jobs, in milliseconds. */
const closeTimeout = 5_000

/** Maximum number of attempts, about 15 hours in total. */
const maxAttempts = 10

/** How long failed jobs are kept, in milliseconds. */
const kept = 30 * 86_400_000

/** Delay after a number of failed attempts, in milliseconds: 10 s, 30 s, 90 s … at most 6 h. */
const waitAfter = (attempts: number): number => Math.min(10_000 * 3 ** (attempts - 1), 6 * 3_600_000)

/**
 * Jobs that run after the response. A job is stored in the transaction of its cause, runs in one process, and is
 * retried until it succeeds.
 */
export class Outbox {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: FastifyBaseLogger
  readonly #cipher: Cipher
  readonly #handlers = new Map<string, (text: string, delivery: Delivery) => Promise<void>>()
  readonly #workers = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  #isClosed = false
  #poll: NodeJS.Timeout | undefined
  #wake: NodeJS.Timeout | undefined

  constructor(parts: { database: Database; clock: Clock; config: CurrentConfig; log: FastifyBaseLogger }) {
    this.#database = parts.database
    this.#clock = parts.clock
    this.#log = parts.log
    this.#cipher = deriveCipher(parts.config.current().app.secret, 'outbox')
  }

  /** Registers the handler of a kind. Jobs without a handler are left to other processes. */
  handle<Payload>(kind: string, handler: Handler<Payload>): void {
    // Sound: decryption under the kind succeeds only for payloads that were added under it.
    this.#handlers.set(kind, (text, delivery) => handler(JSON.parse(text), delivery))
  }

  /** Adds an encrypted job in the transaction of its cause. It starts shortly after the commit. */
  async add(tx: Tx, kind: string, payload: object, { at, mergeKey, userId }: Timing = {}): Promise<void> {
    const now = this.#clock.now()
    const encrypted = this.#cipher.encrypt(JSON.stringify(payload), kind)
    const dates = { availableAt: new Date(at ?? now), createdAt: new Date(now) }
    await insertWork(tx, { kind, payload: encrypted, ...dates, mergeKey: mergeKey ?? null, userId: userId ?? null })
    // If the transaction rolls back or commits later, this poll finds nothing and the next one finds the job.
    this.#wake ??= setTimeout(() => {
      this.#wake = undefined
      this.#begin()
    }, soon).unref()
  }

  /** Runs all due jobs, and waits for them and for running ones. */
  async deliverDue(): Promise<void> {
    while (!this.#isClosed && this.#workers.size >= atOnce) await Promise.race(this.#workers)
    this.#begin()
    await this.settled()
  }

  /** Waits for the running jobs. */
  async settled(): Promise<void> {
    while (this.#workers.size > 0) await Promise.all(this.#workers)
  }

  /** Returns pending and failed jobs by kind, including every kind with a handler. */
  state(): Promise<Map<string, WorkState>> {
    return workStates(this.#database, [...this.#handlers.keys()], this.#clock.now())
  }

  /** Deletes jobs that failed 30 days ago. */
  async prune(): Promise<void> {
    const failedAt = { lt: new Date(this.#clock.now() - kept) }
    await this.#database.prisma.outbox.deleteMany({ where: { failedAt } })
  }

  /** Starts polling. */
  start(): void {
    this.#poll = setInterval(() => this.#begin(), lookEvery).unref()
    this.#begin()
  }

  /** Stops and waits for running jobs. Jobs that take too long are aborted, and the next process retries them. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#poll)
    clearTimeout(this.#wake)
    const end = setTimeout(() => this.#closing.abort(new Error('The process is ending.')), closeTimeout)
    await Promise.all(this.#workers)
    clearTimeout(end)
  }

  #begin(): void {
    if (this.#isClosed || this.#workers.size >= atOnce) return
    const worker = this.#work()
      .catch((error) => this.#log.warn({ err: error }, 'outbox failed'))
      .finally(() => this.#workers.delete(worker))
    this.#workers.add(worker)
  }

  async #work(): Promise<void> {
    for (let row = await this.#claim(); row; row = await this.#claim()) {
      // There may be more, and a slow job must not block the others.
      this.#begin()
      await this.#deliver(row)
    }
  }

  /** Claims the oldest due job for this process until the lease ends; null if there is none. */
  async #claim(): Promise<Claimed | null> {
    if (this.#isClosed) return null
    const now = this.#clock.now()
    return claimWork(this.#database, { kinds: [...this.#handlers.keys()], now, lease, look: 2 * atOnce })
  }

  async #deliver(row: Claimed): Promise<void> {
    try {
      await this.#attempt(row)
    } catch (error) {
      await this.#fail(row, error)
      return
    }
    await this.#finish(row)
  }

  async #attempt({ id, kind, payload, attempts, times }: Claimed): Promise<void> {
    const text = this.#cipher.decrypt(payload, kind)
    // Retried: while replicas restart with a new secret, another one may have it.
    if (text === null) throw new Error('No secret in app.secret decrypts the payload.')
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(workTimeout)])
    const aborted = Promise.withResolvers<never>()
    const abort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', abort)
    try {
      const handler = this.#handlers.get(kind)
      await Promise.race([handler?.(text, { id, attempts, times, signal }), aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /** Deletes a finished job. Retries while the database is unavailable, so that the job does not run twice. */
  async #finish({ id, kind, attempts }: Claimed): Promise<void> {
    const { outbox } = this.#database.prisma
    for (let tries = 1; ; tries++) {
      try {
        await outbox.deleteMany({ where: { id, attempts } })
        break
      } catch (error) {
        if (tries === notes.tries || this.#closing.signal.aborted) throw error
        await sleep(notes.every)
      }
    }
    this.#log.debug({ outbox: id.toString(), kind, attempts }, 'outbox: delivered')
  }

  async #fail({ id, kind, attempts }: Claimed, error: unknown): Promise<void> {
    const now = this.#clock.now()
    const reason = reasonOf(error)
    const isLost = error instanceof UndeliverableError || attempts >= maxAttempts
    const next = isLost ? { failedAt: new Date(now) } : { availableAt: new Date(now + waitAfter(attempts)) }
    await this.#database.prisma.outbox.updateMany({
      where: { id, attempts },
      data: { ...next, lockedUntil: null, lastError: reason },
    })
    const facts = { outbox: id.toString(), kind, attempts, reason }
    if (isLost) this.#log.error(facts, 'outbox job failed permanently')
    else this.#log.warn(facts, 'outbox job failed, will retry')
  }
}

/** Formats an error as one short line. */
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\p{Cc}+/gu, ' ').slice(0, 300)

declare module 'fastify' {
  interface FastifyInstance {
    outbox: Outbox
  }
}

/** Adds `app.outbox`, which runs while the app does. */
export function addOutbox(app: FastifyInstance): void {
  const { database, clock, config, log } = app
  app.decorate('outbox', new Outbox({ database, clock, config, log }))
  app.addHook('onReady', async () => app.outbox.start())
  app.addHook('onClose', async () => app.outbox.close())
}
