import type { Command, Redis } from 'ioredis'
import type { Dependency } from '../dependencies.ts'

/** Replies of a Redis that answers and refuses to work. */
const refusal = /^(OOM|READONLY|LOADING|MISCONF|NOREPLICAS|MASTERDOWN|NO(AUTH|PERM))\b/

/** The error of `limitCommand`. */
const timeoutText = 'Command timed out'

/** How often a Redis that does not work is tried, in milliseconds. */
const probeInterval = 1_000

/**
 * Stops sending commands to a Redis that does not work, so that a request does not wait for the timeout of each of its
 * commands. Commands that wait when the first one fails fail with it. One probe at a time finds out when Redis works again.
 */
export class RedisBreaker {
  readonly #client: Redis
  readonly #state: Dependency
  readonly #waiting = new Set<Command>()
  /** Why Redis does not work; null while it does. */
  #reason: string | null = null
  #isProbing = false
  #timer: NodeJS.Timeout | undefined

  constructor(client: Redis, state: Dependency) {
    this.#client = client
    this.#state = state
    client.on('ready', () => this.#probeIn(0))
  }

  /** Rejects the command while Redis does not work; otherwise watches it. Returns whether to send it. */
  admit(command: Command): boolean {
    // Until then, the library sends its own commands.
    if (this.#client.status !== 'ready') return true
    if (this.#reason !== null && !this.#isProbing) {
      command.reject(new Error(`Redis does not work: ${this.#reason}`))
      return false
    }
    this.#waiting.add(command)
    command.promise.then(
      () => this.#waiting.delete(command),
      (error: Error) => {
        this.#waiting.delete(command)
        if (error.message === timeoutText || refusal.test(error.message)) this.open(error)
      },
    )
    return true
  }

  /** Notes that Redis does not work, and why. */
  open(error: Error): void {
    const wasOpen = this.#reason !== null
    this.#reason = error.message
    if (wasOpen) return
    this.#state.failed(error)
    for (const command of [...this.#waiting]) command.reject(new Error(`Redis does not work: ${error.message}`))
    this.#probeIn(probeInterval)
  }

  /** Stops the probes. */
  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #probeIn(delay: number): void {
    if (this.#reason === null) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#probe(), delay).unref()
  }

  /** Writes, because a Redis that is full or a replica still answers reads. */
  #probe(): void {
    if (this.#client.status !== 'ready') {
      this.#probeIn(probeInterval)
      return
    }
    this.#isProbing = true
    const written = this.#client.set('probe', '1', 'PX', probeInterval)
    this.#isProbing = false
    written.then(
      () => {
        if (this.#reason === null) return
        this.#reason = null
        this.#state.worked()
      },
      () => this.#probeIn(probeInterval),
    )
  }
}
