import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import type { CurrentConfig } from '../config/current.ts'
import type { Cipher } from '../crypto/cipher.ts'
import { deriveCipher } from '../crypto/keys.ts'
import { deleteOutdated } from '../database/batches.ts'
import type { Database, Tx } from '../database/database.ts'
import { type Delivery, JobQueue, type RetryDelay, type TextHandler } from './job-queue.ts'
import { insertJob } from './outbox-rows.ts'
import { type OutboxState, outboxStates } from './outbox-state.ts'

/** Runs a job. It may throw, and must tolerate a second call after a crash. */
type Handler<Payload> = (payload: Payload, delivery: Delivery) => Promise<void>

/** When a job is due, and how it relates to other jobs. */
interface Timing {
  /** Unix milliseconds. Default: now. */
  at?: number
  /** Key of equal jobs. If one is pending, its payload is replaced and its count incremented. */
  mergeKey?: string
  /** Key of jobs that run one after the other, in the order in which they were added. */
  orderKey?: string
  /** Owner of the data in the payload; the job is deleted with the account. */
  userId?: number | null
}

/** How long failed jobs stay in the table, in milliseconds. */
const failedJobTtl = 30 * 86_400_000

/** Ten attempts in about 15 hours: after 10 s, 30 s, 90 s … at most 6 h. */
const standardDelay: RetryDelay = (attempts) =>
  attempts >= 10 ? null : Math.min(10_000 * 3 ** (attempts - 1), 6 * 3_600_000)

/**
 * Queue of jobs that run after the response. A job is stored in the transaction of its cause, runs in one process, and
 * is retried until it succeeds or its handler gives up.
 */
export class Outbox {
  readonly #parts: { database: Database; clock: Clock; log: FastifyBaseLogger; cipher: Cipher }
  readonly #shared: JobQueue
  /** The queue of each kind with a handler. */
  readonly #queues = new Map<string, JobQueue>()
  #isStarted = false

  constructor({
    config,
    ...parts
  }: { database: Database; clock: Clock; config: CurrentConfig; log: FastifyBaseLogger }) {
    this.#parts = { ...parts, cipher: deriveCipher(config.current().app.secret, 'outbox') }
    this.#shared = new JobQueue({ ...this.#parts, retryDelay: standardDelay })
  }

  /** Registers the handler of a kind. Jobs without a handler are left to other processes. */
  handle<Payload>(kind: string, handler: Handler<Payload>): void {
    this.#shared.handle(kind, textHandler(handler))
    this.#queues.set(kind, this.#shared)
  }

  /**
   * Registers the handler of a kind with its own workers and delays, such as calls to one server of a third party. Log lines
   * about its jobs have the `facts`.
   */
  handleSeparately<Payload>(
    kind: string,
    handler: Handler<Payload>,
    {
      retryDelay = standardDelay,
      facts = {},
    }: { retryDelay?: RetryDelay; facts?: Readonly<Record<string, string>> } = {},
  ): void {
    const queue = new JobQueue({ ...this.#parts, log: this.#parts.log.child(facts), retryDelay })
    queue.handle(kind, textHandler(handler))
    this.#queues.set(kind, queue)
    if (this.#isStarted) queue.start()
  }

  /** Stops the workers of a kind that `handleSeparately` registered. Its jobs stay. */
  async remove(kind: string): Promise<void> {
    const queue = this.#queues.get(kind)
    this.#queues.delete(kind)
    await queue?.close()
  }

  /** Adds an encrypted job in the transaction of its cause. It starts shortly after the commit. */
  async add(tx: Tx, kind: string, payload: object, timing: Timing = {}): Promise<void> {
    const { at, mergeKey = null, orderKey = null, userId = null } = timing
    const { cipher, clock } = this.#parts
    const now = clock.now()
    const encrypted = cipher.encrypt(JSON.stringify(payload), kind)
    const dates = { availableAt: new Date(at ?? now), createdAt: new Date(now) }
    await insertJob(tx, { kind, payload: encrypted, ...dates, mergeKey, orderKey, userId })
    // If the transaction rolls back or commits later, this poll finds nothing and the next one finds the job.
    this.#queues.get(kind)?.wake()
  }

  /** Runs all due jobs, and waits for them and for running ones. */
  async deliverDue(): Promise<void> {
    await Promise.all(this.#everyQueue().map((queue) => queue.deliverDue()))
  }

  /** Waits for the running jobs. */
  async settled(): Promise<void> {
    await Promise.all(this.#everyQueue().map((queue) => queue.settled()))
  }

  /** Returns pending and failed jobs by kind, including every kind with a handler. */
  state(): Promise<Map<string, OutboxState>> {
    return outboxStates(this.#parts.database, [...this.#queues.keys()], this.#parts.clock.now())
  }

  /** Deletes jobs that failed 30 days ago. */
  async prune(): Promise<void> {
    const { database, clock } = this.#parts
    await deleteOutdated(database, { table: 'outbox', date: 'failed_at', before: new Date(clock.now() - failedJobTtl) })
  }

  /** Starts polling. */
  start(): void {
    this.#isStarted = true
    for (const queue of this.#everyQueue()) queue.start()
  }

  /** Stops and waits for running jobs. Jobs that take too long are aborted, and the next process retries them. */
  async close(): Promise<void> {
    this.#isStarted = false
    await Promise.all(this.#everyQueue().map((queue) => queue.close()))
  }

  #everyQueue(): JobQueue[] {
    return [...new Set([this.#shared, ...this.#queues.values()])]
  }
}

const textHandler =
  <Payload>(handler: Handler<Payload>): TextHandler =>
  // Sound: decryption under the kind succeeds only for payloads that were added under it.
  (text, delivery) =>
    handler(JSON.parse(text), delivery)

declare module 'fastify' {
  interface FastifyInstance {
    outbox: Outbox
  }
}

/** Adds `app.outbox`, which runs while the app does. */
export function addOutbox(app: FastifyInstance): void {
  const { database, clock, config, log } = app
  app.decorate('outbox', new Outbox({ database, clock, config, log }))
  // A worker runs the jobs that it adds. Worker 1 runs what remains.
  app.addHook('onReady', async () => {
    if (!app.worker || app.worker.number === 1) app.outbox.start()
  })
  app.addHook('onClose', async () => app.outbox.close())
}
