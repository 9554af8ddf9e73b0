import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Cipher } from '../crypto/cipher.ts'
import type { Database } from '../database/database.ts'
import { type ClaimedJob, claimJobs, deleteJobs, dueJobs } from './outbox-rows.ts'

/** One attempt to run a job. */
export interface Delivery {
  id: bigint
  /** Includes this attempt. */
  attempts: number
  /** Number of jobs with the same merge key that were merged into this one. */
  times: number
  /** Aborted on timeout or shutdown; the job is then retried. */
  signal: AbortSignal
}

/** Runs a job, given as JSON text. */
export type TextHandler = (text: string, delivery: Delivery) => Promise<void>

/** Thrown by a handler when a retry cannot succeed. */
export class UndeliverableError extends Error {}

/** Returns the delay in milliseconds after a number of failed attempts; null to give up. */
export type RetryDelay = (attempts: number) => number | null

/** Timeout of one attempt in milliseconds. */
const attemptTimeout = 60_000

/** Duration of a claim: twice the timeout, to tolerate clock differences. */
const lease = 2 * attemptTimeout

/** Maximum number of concurrent jobs per queue and process. */
const maxConcurrent = 5

/** Number of due jobs that a queue looks for at once. */
const searchSize = 50

/** Maximum attempts to delete a finished job, and their interval in milliseconds; together shorter than the lease. */
const finishRetries = { max: 20, interval: 2_000 }

/** Delay before a new job starts, in milliseconds, so that its transaction can commit. */
const newJobDelay = 50

/** Polling interval for retries and jobs of other processes, in milliseconds. */
const pollInterval = 5_000

/** How long closing waits before it aborts running jobs, in milliseconds. */
const closeTimeout = 500

interface LaneParts {
  database: Database
  clock: Clock
  log: FastifyBaseLogger
  cipher: Cipher
  retryDelay: RetryDelay
}

/** Runs some kinds of jobs. Slow jobs of one queue do not delay those of another. */
export class JobQueue {
  readonly #parts: LaneParts
  readonly #handlers = new Map<string, TextHandler>()
  readonly #running = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  /** Jobs that the last search found, the oldest first. Other processes may find them too. */
  #found: bigint[] = []
  /** Jobs that wait for their deletion. */
  readonly #finished: ClaimedJob[] = []
  #deletion: Promise<void> | undefined
  /** The search for due jobs, while it runs. */
  #search: Promise<void> | undefined
  #isSearchDue = false
  /** Number of jobs that this queue started. */
  #started = 0
  #isClosed = false
  #poll: NodeJS.Timeout | undefined
  #wake: NodeJS.Timeout | undefined

  constructor(parts: LaneParts) {
    this.#parts = parts
  }

  handle(kind: string, handler: TextHandler): void {
    this.#handlers.set(kind, handler)
  }

  /** Looks for due jobs after a short delay. */
  wake(): void {
    this.#wake ??= setTimeout(() => {
      this.#wake = undefined
      this.#begin()
    }, newJobDelay).unref()
  }

  /** Runs all due jobs and the jobs that these add, and waits for them and for running ones. */
  async deliverDue(): Promise<void> {
    let isIdle = false
    while (!isIdle) {
      const [started, running] = [this.#started, this.#running.size]
      this.#begin()
      await this.settled()
      isIdle = running === 0 && this.#started === started
    }
  }

  /** Waits for the running jobs. */
  async settled(): Promise<void> {
    while (this.#search || this.#running.size > 0) await Promise.all([this.#search, ...this.#running])
  }

  /** Starts polling. */
  start(): void {
    this.#poll = setInterval(() => this.#begin(), pollInterval).unref()
    this.#begin()
  }

  /** Stops and waits for running jobs. Jobs that take too long are aborted, and the next process retries them. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#poll)
    clearTimeout(this.#wake)
    const end = setTimeout(() => this.#closing.abort(new Error('The process is ending.')), closeTimeout)
    await this.settled()
    clearTimeout(end)
  }

  /** Starts the due jobs. If a search is running, it searches again, because it may have missed new jobs. */
  #begin(): void {
    if (this.#isClosed) return
    this.#isSearchDue = true
    this.#search ??= this.#startDue().catch((error) =>
      this.#parts.log.warn({ err: error }, 'cannot read the outbox, will retry'),
    )
  }

  async #startDue(): Promise<void> {
    try {
      while (!this.#isClosed && (this.#isSearchDue || this.#found.length > 0)) await this.#step()
    } finally {
      // In the same turn as the last test of the condition, so that no request for a search gets lost.
      this.#search = undefined
    }
  }

  /** Waits for a place, or searches, or starts jobs. Only one of them, because the queue may close meanwhile. */
  async #step(): Promise<void> {
    if (this.#running.size >= maxConcurrent) {
      await Promise.race(this.#running)
      // Jobs that end together free their places together, so that one statement claims the next jobs.
      await turn()
    } else if (this.#found.length === 0) await this.#find()
    else for (const job of await this.#claimFound(maxConcurrent - this.#running.size)) this.#start(job)
  }

  async #find(): Promise<void> {
    const { database, clock } = this.#parts
    this.#isSearchDue = false
    this.#found = await dueJobs(database, [...this.#handlers.keys()], clock.now(), searchSize)
    if (this.#found.length === searchSize) this.#isSearchDue = true
  }

  /** Claims up to `max` of the found jobs for this process until the lease ends. */
  async #claimFound(max: number): Promise<ClaimedJob[]> {
    const { database, clock } = this.#parts
    const ids = this.#found.splice(0, max)
    const jobs = await claimJobs(database, ids, { now: clock.now(), lease })
    // If another process works on these jobs, this one continues with the second half of them.
    if (jobs.length < ids.length) this.#found.push(...this.#found.splice(0, this.#found.length >> 1))
    return jobs
  }

  #start(job: ClaimedJob): void {
    this.#started++
    const running = this.#deliver(job)
      .catch((error) => this.#parts.log.warn({ err: error }, 'cannot write to the outbox, will retry'))
      .finally(() => {
        this.#running.delete(running)
        // The next job with the same order key is due now.
        if (job.isOrdered) this.#begin()
      })
    this.#running.add(running)
  }

  async #deliver(job: ClaimedJob): Promise<void> {
    try {
      await this.#attempt(job)
    } catch (error) {
      await this.#fail(job, error)
      return
    }
    this.#finished.push(job)
    this.#deletion ??= this.#deleteFinished().finally(() => {
      this.#deletion = undefined
    })
    await this.#deletion
    const { id, kind, attempts } = job
    this.#parts.log.debug({ outbox: id.toString(), kind, attempts }, 'outbox: delivered')
  }

  async #attempt({ id, kind, payload, attempts, times }: ClaimedJob): Promise<void> {
    const text = this.#parts.cipher.decrypt(payload, kind)
    // Throws, so that the job is retried: while replicas restart with a new secret, another one may have it.
    if (text === null) throw new Error('No secret in app.secret decrypts the payload.')
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(attemptTimeout)])
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

  async #deleteFinished(): Promise<void> {
    // Jobs that end together share a statement.
    await turn()
    while (this.#finished.length > 0) await this.#delete(this.#finished.splice(0))
  }

  /** Deletes finished jobs. Retries while the database is unavailable, so that no job runs twice. */
  async #delete(jobs: readonly ClaimedJob[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await deleteJobs(this.#parts.database, jobs)
      } catch (error) {
        if (tries === finishRetries.max || this.#closing.signal.aborted) throw error
        await sleep(finishRetries.interval, undefined, { signal: this.#closing.signal }).catch(() => undefined)
      }
    }
  }

  async #fail({ id, kind, attempts }: ClaimedJob, error: unknown): Promise<void> {
    const now = this.#parts.clock.now()
    const reason = reasonOf(error)
    const delay = error instanceof UndeliverableError ? null : this.#parts.retryDelay(attempts)
    const next = delay === null ? { failedAt: new Date(now) } : { availableAt: new Date(now + delay) }
    await this.#parts.database.prisma.outbox.updateMany({
      where: { id, attempts },
      data: { ...next, lockedUntil: null, lastError: reason },
    })
    const facts = { outbox: id.toString(), kind, attempts, reason }
    if (delay === null) {
      this.#parts.log.error(facts, 'outbox job failed permanently')
      return
    }
    this.#parts.log.warn(facts, 'outbox job failed, will retry')
    if (delay < pollInterval) setTimeout(() => this.#begin(), delay).unref()
  }
}

/** Formats an error as one short line. */
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\p{Cc}+/gu, ' ').slice(0, 300)
