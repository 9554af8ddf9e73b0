import { setMaxListeners } from 'node:events'
import { extname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { Piscina } from 'piscina'
import { canonicalPassword, formsOf } from '../../platform/crypto/canonical-password.ts'
import { checksOf, isPassword, legacyCostsOf } from '../../platform/crypto/stored-password.ts'
import { type HttpError, unavailable } from '../../platform/errors.ts'
import { hashingThreads } from '../../platform/workers/count.ts'
import { FairQueue, type Lane } from './fair-queue.ts'
import type { Hashed, HashingTask } from './hashing-worker.ts'

/** Number of checks that a thread gets at once. It begins the second one without waiting for the event loop. */
const checksPerThread = 2

/** Maximum queued checks per thread, about a second of argon2id. Known browsers have separate places. */
const waitersPerThread = 100

/** Maximum queued checks per address or account. */
const waitersPerLane = 50

/** Delay of a rejection in milliseconds, so that fast retries cost little. */
const refusalDelay = 1_000

/** Maximum number of delayed rejections; others are sent immediately. */
const maxHeldBack = 1_000

/** How long a thread may be idle before it ends, in milliseconds. */
const idleTimeout = 30_000

const worker = fileURLToPath(new URL(`./hashing-worker${extname(import.meta.url)}`, import.meta.url))

/** 503 when a check gets no thread. */
const refusal = (reason: string): HttpError => unavailable(reason, 2)

/** Metrics and traces to report to. */
type Watch = Pick<FastifyInstance, 'metrics' | 'tracing'>

const unwatched: Watch = { metrics: null, tracing: null }

/** Threads that hash passwords. */
export type HashingThreads = Pick<Piscina<HashingTask, Hashed>, 'run' | 'close'>

/** Opens the threads. They start when needed, and end when idle. */
export const openHashingThreads = (threads: number): HashingThreads =>
  new Piscina({
    filename: worker,
    minThreads: 0,
    maxThreads: threads,
    concurrentTasksPerWorker: checksPerThread,
    idleTimeout,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
  })

interface HashingOptions {
  threads?: number
  watch?: Watch
  /** Threads of several apps, which `close` leaves running. Default: separate threads. */
  shared?: HashingThreads | undefined
}

/** Whether a hash is of a password: of its canonical form, or of another one, which should be hashed again. */
export type PasswordMatch = 'canonical' | 'other form' | 'none'

/** A check that waits for a thread. */
interface Waiter {
  begin(): void
  refuse(): void
}

/**
 * Hashes passwords in a small thread pool, so that a flood of logins takes neither event loop time nor unbounded
 * memory. Queued checks take turns by lane, so that one address cannot block the others.
 */
export class PasswordHashing {
  readonly #pool: HashingThreads
  readonly #ownsPool: boolean
  readonly #queue: FairQueue<Waiter>
  readonly #threads: number
  readonly #watch: Watch
  readonly #legacyCosts = new Set<string>()
  /** The checks, with a function that rejects each. */
  readonly #unfinished = new Map<Promise<Hashed>, (error: HttpError) => void>()
  readonly #closing = new AbortController()
  #isEnding = false
  #running = 0
  #heldBack = 0

  constructor({ threads = hashingThreads(null), watch = unwatched, shared }: HashingOptions = {}) {
    setMaxListeners(maxHeldBack, this.#closing.signal)
    this.#threads = threads
    this.#watch = watch
    this.#queue = new FairQueue({ all: threads * waitersPerThread, lane: threads * waitersPerLane })
    this.#pool = shared ?? openHashingThreads(threads)
    this.#ownsPool = shared === undefined
  }

  /** Number of queued checks. */
  get queued(): number {
    return this.#queue.size
  }

  /**
   * Number of checks that the threads get at once. With slow legacy hashes, one each, because a check that a thread has can
   * neither wait for another address nor be rejected when the process stops.
   */
  get #places(): number {
    return this.#threads * (this.#legacyCosts.size > 0 ? 1 : checksPerThread)
  }

  /** Tests whether the lane rejects further checks. */
  isFull(lane: Lane): boolean {
    return this.#isEnding ? this.#running >= this.#places : this.#queue.isFull(lane)
  }

  /** Throws 503 with `Retry-After`, after a delay unless the process is about to end. */
  async refuse(): Promise<never> {
    if (this.#isEnding) throw refusal('the process ends before it can check the password')
    this.#watch.metrics?.hashingRefused()
    if (this.#heldBack < maxHeldBack) {
      this.#heldBack++
      await sleep(refusalDelay, undefined, { signal: this.#closing.signal }).catch(() => {})
      this.#heldBack--
    }
    throw refusal('password hashing queue is full')
  }

  /** Rejects checks that no thread has yet, now and later, because the process is about to end. The others continue. */
  refuseWaiting(): void {
    this.#isEnding = true
    for (let waiter = this.#queue.take(); waiter; waiter = this.#queue.take()) waiter.refuse()
    this.#closing.abort()
  }

  /** Rejects all checks, those of the threads too, because the process must end. */
  refuseAll(): void {
    this.refuseWaiting()
    for (const reject of this.#unfinished.values()) reject(refusal('the process ends before the password is checked'))
  }

  /** Returns the hash to store. Throws 503 with `Retry-After` if the queue is full. */
  async hash(password: string, lane: Lane): Promise<string> {
    return String(await this.#run({ password: canonicalPassword(password) }, lane))
  }

  /** Replaces the costs of legacy hashes by those of the hashes in use. */
  setLegacyCosts(legacyHashes: Iterable<string>): void {
    this.#legacyCosts.clear()
    this.addLegacyCosts(legacyHashes)
  }

  /** Adds the costs of legacy hashes, so that `verify` takes the same time for accounts with and without one. */
  addLegacyCosts(legacyHashes: Iterable<string>): void {
    for (const cost of legacyCostsOf(legacyHashes)) this.#legacyCosts.add(cost)
  }

  /**
   * Checks a password, in its canonical form and then in others. The work is the same for every account: null (no user or
   * no password), current and legacy hashes.
   */
  async verify(stored: string | null, password: string, lane: Lane): Promise<PasswordMatch> {
    if (isPassword(stored)) this.addLegacyCosts([stored])
    const checks = checksOf(stored, this.#legacyCosts)
    for (const [index, form] of formsOf(password).entries()) {
      const matches = await this.#run({ password: form, checks }, lane)
      // As in Laravel, an empty password never matches.
      if (matches === true && isPassword(stored) && password !== '') return index === 0 ? 'canonical' : 'other form'
    }
    return 'none'
  }

  /** Finishes running checks, and stops the threads unless other apps share them. */
  async close(): Promise<void> {
    this.#closing.abort()
    while (this.#unfinished.size > 0) await Promise.allSettled(this.#unfinished.keys())
    if (this.#ownsPool) await this.#pool.close()
  }

  async #run(task: HashingTask, lane: Lane): Promise<string | boolean> {
    const { metrics, tracing } = this.#watch
    const begin = performance.now()
    const run = () => this.#turn(lane).then(() => this.#work(task))
    const work = tracing ? tracing.span('password hashing', {}, run) : run()
    const { promise: done, resolve, reject } = Promise.withResolvers<Hashed>()
    work.then(resolve, reject)
    this.#unfinished.set(done, reject)
    try {
      const { answer, took } = await done
      metrics?.hashed(Math.max(0, performance.now() - begin - took) / 1000, took / 1000)
      return answer
    } finally {
      this.#unfinished.delete(done)
    }
  }

  /** Waits for a thread and the lane's turn. Throws 503 if the lane is full. */
  async #turn(lane: Lane): Promise<void> {
    if (this.#running < this.#places) {
      this.#running++
      return
    }
    if (this.isFull(lane)) return this.refuse()
    const isMine = await new Promise<boolean>((decide) => {
      this.#queue.add(lane, { begin: () => decide(true), refuse: () => decide(false) })?.refuse()
    })
    if (!isMine) await this.refuse()
  }

  async #work(task: HashingTask): Promise<Hashed> {
    try {
      return await this.#pool.run(task)
    } finally {
      // The next check takes the place, unless legacy hashes reduced the number of places.
      const next = this.#running > this.#places ? undefined : this.#queue.take()
      if (next) next.begin()
      else this.#running--
    }
  }
}
