import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import type { CurrentConfig } from '../config/current.ts'
import type { Cipher } from '../crypto/cipher.ts'
import { deriveCipher } from '../crypto/keys.ts'
import type { Database, Tx } from '../database/database.ts'
import { type Claimed, claimWork, insertWork } from './outbox-rows.ts'
import { type WorkState, workStates } from './outbox-state.ts'

/** One attempt at a piece of work. */
export interface Delivery {
  id: bigint
  /** This one included. */
  attempts: number
  /** How many causes were merged into it. */
  times: number
  /** Aborted when the attempt takes too long or the process ends: what is not done then is tried again. */
  signal: AbortSignal
}

/** Does one piece of work; it may throw, and it may be called again for work that it had done when the process died. */
type Handler<Payload> = (payload: Payload, delivery: Delivery) => Promise<void>

/** Thrown by a handler when no further attempt can succeed. */
export class UndeliverableError extends Error {}

/** When work is due, and what it may be merged with. */
interface Timing {
  /** Unix milliseconds; now, unless it says otherwise. */
  at?: number
  /** The same for equal work. While such work waits, this replaces its payload and is counted, and no second piece is added. */
  mergeKey?: string
  /** Whose data the payload holds: it is deleted with the account. */
  userId?: number | null
}

/** How long one attempt may take, in milliseconds. */
const workTimeout = 60_000

/** How long a claim keeps others away: twice the attempt, so that clocks may differ by the other half. */
const lease = 2 * workTimeout

/** How many deliveries one process has under way at most. */
const atOnce = 5

/** How often, and after how many milliseconds each, it is tried to note that something was delivered: within the lease. */
const notes = { tries: 20, every: 2_000 }

/** How soon after it was added work is begun: by then its transaction is usually committed. */
const soon = 50

/** How often each process looks for what is due: retries, and what other processes left behind. */
const lookEvery = 5_000

/** How long closing waits before it aborts what is under way: well within what a stopping process is given. */
const closeTimeout = 5_000

/** Attempts after which work is given up: about fifteen hours after the first. */
const maxAttempts = 10

/** How long what was given up stays for an operator to see, in milliseconds. */
const kept = 30 * 86_400_000

/** The wait after so many failed attempts, in milliseconds: 10 s, 30 s, 90 s … at most 6 h. */
const waitAfter = (attempts: number): number => Math.min(10_000 * 3 ** (attempts - 1), 6 * 3_600_000)

/** Work that is done after the answer: written in the transaction of its cause, done by one process, repeated until it succeeds. */
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

  /** Registers who does work of a kind; what nobody here does is left to a process that does it. */
  handle<Payload>(kind: string, handler: Handler<Payload>): void {
    // What decrypts under the kind was added under it: nobody else can have written it.
    this.#handlers.set(kind, (text, delivery) => handler(JSON.parse(text), delivery))
  }

  /** Adds work, encrypted, in the transaction of its cause; it begins a moment after the commit. */
  async add(tx: Tx, kind: string, payload: object, { at, mergeKey, userId }: Timing = {}): Promise<void> {
    const now = this.#clock.now()
    const encrypted = this.#cipher.encrypt(JSON.stringify(payload), kind)
    const dates = { availableAt: new Date(at ?? now), createdAt: new Date(now) }
    await insertWork(tx, { kind, payload: encrypted, ...dates, mergeKey: mergeKey ?? null, userId: userId ?? null })
    // A transaction that is rolled back, or committed later, costs a look for nothing: the next one finds what is there.
    this.#wake ??= setTimeout(() => {
      this.#wake = undefined
      this.#begin()
    }, soon).unref()
  }

  /** Delivers everything that is due and waits for it, and for what was under way before. */
  async deliverDue(): Promise<void> {
    while (!this.#isClosed && this.#workers.size >= atOnce) await Promise.race(this.#workers)
    this.#begin()
    while (this.#workers.size > 0) await Promise.all(this.#workers)
  }

  /** What waits and what was given up, by kind; every kind that is done here is there. */
  state(): Promise<Map<string, WorkState>> {
    return workStates(this.#database, [...this.#handlers.keys()], this.#clock.now())
  }

  /** Deletes what was given up 30 days ago. */
  async prune(): Promise<void> {
    const failedAt = { lt: new Date(this.#clock.now() - kept) }
    await this.#database.prisma.outbox.deleteMany({ where: { failedAt } })
  }

  /** Begins to look for due work by itself. */
  start(): void {
    this.#poll = setInterval(() => this.#begin(), lookEvery).unref()
    this.#begin()
  }

  /** Stops and waits for what is under way; what takes too long is aborted, and tried again by the next process. */
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
      .catch((error) => this.#log.warn({ err: error }, 'the outbox cannot be used'))
      .finally(() => this.#workers.delete(worker))
    this.#workers.add(worker)
  }

  async #work(): Promise<void> {
    for (let row = await this.#claim(); row; row = await this.#claim()) {
      // Where there is one there may be more, and nothing waits behind a slow one.
      this.#begin()
      await this.#deliver(row)
    }
  }

  /** The oldest due work, which then belongs to this process until the lease ends; null when there is none. */
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
    // Not given up at once: while replicas restart with another secret, one of the others has it.
    if (text === null) throw new Error('No secret of app.secret decrypts it.')
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

  /** Deletes what was delivered; a database that is away for a moment must not have it delivered again. */
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
    if (isLost) this.#log.error(facts, 'outbox: given up')
    else this.#log.warn(facts, 'outbox: failed, and will be tried again')
  }
}

/** The error in one short line. */
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\p{Cc}+/gu, ' ').slice(0, 300)

declare module 'fastify' {
  interface FastifyInstance {
    outbox: Outbox
  }
}

/** Adds `app.outbox`, which works from the app's start to its end. */
export function addOutbox(app: FastifyInstance): void {
  const { database, clock, config, log } = app
  app.decorate('outbox', new Outbox({ database, clock, config, log }))
  app.addHook('onReady', async () => app.outbox.start())
  app.addHook('onClose', async () => app.outbox.close())
}
