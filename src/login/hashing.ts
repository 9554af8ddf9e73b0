import { availableParallelism } from 'node:os'
import { hashPassword, verifyPassword } from '../crypto/password.ts'
import { unavailable } from '../errors.ts'

/** A hash that no password fits, for the equal time of an unknown user. */
const nobody = '$argon2id$v=19$m=19456,t=2,p=1$c3ZjLW5vLXN1Y2gtdXNlcg$Zm9yIGVxdWFsIHRpbWUsIG5vdCBmb3IgYW55IHVzZXI'

/** How long a password check may wait before it is refused: about 200 waiters at 10 ms a hash and two threads. */
const waitersPerThread = 100

/** Hashes passwords on at most one thread a core, so that a flood of logins cannot take the event loop's time or unbounded memory. */
export class PasswordHashing {
  readonly #threads: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(threads = availableParallelism()) {
    this.#threads = Math.max(1, threads)
  }

  /** How many checks wait for a thread. */
  get queued(): number {
    return this.#waiting.length
  }

  /** The hash to store; 503 with `Retry-After` when the queue is full. */
  hash(password: string): Promise<string> {
    return this.#run(() => hashPassword(password))
  }

  /** Whether the password fits; as slow for null (no such user, no password) as for a wrong password. */
  async verify(stored: string | null, password: string): Promise<boolean> {
    const fits = await this.#run(() => verifyPassword(stored ?? nobody, password))
    // Laravel's rule: an empty password never matches, whatever was stored.
    return fits && stored !== null && password !== ''
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#threads) {
      if (this.#waiting.length >= this.#threads * waitersPerThread)
        throw unavailable('password hashing queue is full', 2)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else {
      this.#running++
    }
    try {
      return await work()
    } finally {
      // The thread goes to the next waiter, or becomes free.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}
