import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { Piscina } from 'piscina'
import { isPassword, nobodysHash } from '../crypto/password.ts'
import { type HttpError, unavailable } from '../errors.ts'
import type { Hashed, HashingTask } from './hashing-worker.ts'

/** How many checks may wait for each thread before more are refused: about a second's work of argon2id. */
const waitersPerThread = 100

/** How far the threads stand behind everything else in the system's schedule: token checks keep their speed. */
const niceness = 3

/** How long a thread is kept without work, in milliseconds. */
const idleTimeout = 30_000

const worker = fileURLToPath(new URL(`./hashing-worker${extname(import.meta.url)}`, import.meta.url))

/** 503 of a check that would have to wait too long. */
export const queueIsFull = (): HttpError => unavailable('password hashing queue is full', 2)

/** Where what it does is told. */
type Watch = Pick<FastifyInstance, 'metrics' | 'tracing'>

/** One core is always left to everything else. */
const allButOne = Math.max(1, availableParallelism() - 1)

/** Hashes passwords on a few threads of their own, so that a flood of logins takes neither the event loop's time nor unbounded memory. */
export class PasswordHashing {
  readonly #pool: Piscina<HashingTask, Hashed>
  readonly #most: number
  readonly #watch: Watch

  constructor(threads = allButOne, watch: Watch = { metrics: null, tracing: null }) {
    this.#watch = watch
    this.#most = threads * waitersPerThread
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
    return this.#pool.queueSize
  }

  /** Whether further checks are refused. */
  get isFull(): boolean {
    return this.#pool.queueSize >= this.#most
  }

  /** The hash to store; 503 with `Retry-After` when the queue is full. */
  async hash(password: string): Promise<string> {
    return String(await this.#run({ password }))
  }

  /** Whether the password fits; as slow for null (no such user, no password) as for a wrong password. */
  async verify(stored: string | null, password: string): Promise<boolean> {
    const fits = await this.#run({ password, stored: isPassword(stored) ? stored : nobodysHash })
    // Laravel's rule: an empty password never matches, whatever was stored.
    return fits === true && isPassword(stored) && password !== ''
  }

  /** Lets the checks under way finish, and ends the threads. */
  close(): Promise<void> {
    return this.#pool.close()
  }

  async #run(task: HashingTask): Promise<string | boolean> {
    const { metrics, tracing } = this.#watch
    if (this.isFull) {
      metrics?.hashingRefused()
      throw queueIsFull()
    }
    const begin = performance.now()
    const run = () => this.#pool.run(task)
    const { answer, took } = await (tracing ? tracing.span('password hashing', {}, run) : run())
    metrics?.hashed(Math.max(0, performance.now() - begin - took) / 1000, took / 1000)
    return answer
  }
}
