import { setMaxListeners } from 'node:events'
import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { Piscina } from 'piscina'
import { checksOf, costOf, isPassword, needsRehash } from '../crypto/password.ts'
import { type HttpError, unavailable } from '../errors.ts'
import { FairQueue, type Lane } from './fair-queue.ts'
import type { Hashed, HashingTask } from './hashing-worker.ts'

/** How many checks may wait for each thread: about a second's work of argon2id. Known browsers have places of their own. */
const waitersPerThread = 100

/** How many of them may come from one address, or for one account. */
const waitersPerLane = 50

/** How long a refusal is held back, in milliseconds, so that asking again at once keeps nobody busy with refusals. */
const refusalDelay = 1_000

/** How many refusals are held back at a time; further ones are answered at once. */
const maxHeldBack = 1_000

/** How far the threads stand behind everything else in the system's schedule: token checks keep their speed. */
const niceness = 3

/** How long a thread is kept without work, in milliseconds. */
const idleTimeout = 30_000

const worker = fileURLToPath(new URL(`./hashing-worker${extname(import.meta.url)}`, import.meta.url))

/** 503 of a check that would have to wait too long. */
const queueIsFull = (): HttpError => unavailable('password hashing queue is full', 2)

/** Where what it does is told. */
type Watch = Pick<FastifyInstance, 'metrics' | 'tracing'>

/** One core is always left to everything else. */
const allButOne = Math.max(1, availableParallelism() - 1)

/** A check that waits for a thread. */
interface Waiter {
  begin(): void
  refuse(): void
}

/**
 * Hashes passwords on a few threads of their own, so that a flood of logins takes neither the event loop's time nor
 * unbounded memory. Whoever waits takes turns by lane, so that one address cannot stop the sign-ins of the others.
 */
export class PasswordHashing {
  readonly #pool: Piscina<HashingTask, Hashed>
  readonly #queue: FairQueue<Waiter>
  readonly #threads: number
  readonly #watch: Watch
  readonly #legacyCosts = new Set<string>()
  readonly #unfinished = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()
  #running = 0
  #heldBack = 0

  constructor(threads = allButOne, watch: Watch = { metrics: null, tracing: null }) {
    setMaxListeners(maxHeldBack, this.#closing.signal)
    this.#threads = threads
    this.#watch = watch
    this.#queue = new FairQueue({ all: threads * waitersPerThread, lane: threads * waitersPerLane })
    this.#pool = new Piscina({
      filename: worker,
      minThreads: 0,
      maxThreads: threads,
      idleTimeout,
      niceIncrement: niceness,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    })
  }

  /** How many checks wait for a thread. */
  get queued(): number {
    return this.#queue.size
  }

  /** Whether further checks of the lane are refused. */
  isFull(lane: Lane): boolean {
    return this.#queue.isFull(lane)
  }

  /** Throws 503 with `Retry-After`, a moment later. */
  async refuse(): Promise<never> {
    this.#watch.metrics?.hashingRefused()
    if (this.#heldBack < maxHeldBack) {
      this.#heldBack++
      await sleep(refusalDelay, undefined, { signal: this.#closing.signal }).catch(() => {})
      this.#heldBack--
    }
    throw queueIsFull()
  }

  /** The hash to store; 503 with `Retry-After` when the queue is full. */
  async hash(password: string, lane: Lane): Promise<string> {
    return String(await this.#run({ password }, lane))
  }

  /** Learns the costs of the legacy hashes in the database. */
  expect(legacyHashes: Iterable<string>): void {
    for (const stored of legacyHashes) {
      const cost = needsRehash(stored) ? costOf(stored) : null
      if (cost !== null) this.#legacyCosts.add(cost)
    }
  }

  /** Whether the password fits. The work is the same for every account: null (no user or no password), current and legacy hashes. */
  async verify(stored: string | null, password: string, lane: Lane): Promise<boolean> {
    if (isPassword(stored)) this.expect([stored])
    const fits = await this.#run({ password, checks: checksOf(stored, this.#legacyCosts) }, lane)
    // Laravel's rule: an empty password never matches, whatever was stored.
    return fits === true && isPassword(stored) && password !== ''
  }

  /** Lets the checks under way finish, and ends the threads. */
  async close(): Promise<void> {
    this.#closing.abort()
    while (this.#unfinished.size > 0) await Promise.allSettled(this.#unfinished)
    await this.#pool.close()
  }

  async #run(task: HashingTask, lane: Lane): Promise<string | boolean> {
    const { metrics, tracing } = this.#watch
    const begin = performance.now()
    const run = () => this.#turn(lane).then(() => this.#work(task))
    const done = tracing ? tracing.span('password hashing', {}, run) : run()
    this.#unfinished.add(done)
    try {
      const { answer, took } = await done
      metrics?.hashed(Math.max(0, performance.now() - begin - took) / 1000, took / 1000)
      return answer
    } finally {
      this.#unfinished.delete(done)
    }
  }

  /** Waits until a thread is free and it is the lane's turn; throws 503 when the lane has no place in the queue. */
  async #turn(lane: Lane): Promise<void> {
    if (this.#running < this.#threads) {
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
      // The thread goes to whoever is next, and counts as free only when nobody waits.
      const next = this.#queue.take()
      if (next) next.begin()
      else this.#running--
    }
  }
}
