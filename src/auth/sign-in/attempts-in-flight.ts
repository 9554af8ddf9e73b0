import { setTimeout as sleep } from 'node:timers/promises'

/** How long an attempt beyond a limit waits for the attempts in flight, in milliseconds. */
const maxWait = 1_000

/** Delay between two looks at the counters, in milliseconds. Attempts in flight may be on another replica. */
const interval = 50

/** Maximum number of attempts that wait in this process, for each account and each address. */
const maxWaiting = { account: 32, address: 64 }

/** Maximum number of counters that this process remembers. */
const maxCounters = 10_000

/** What this process knows about a counter. */
interface Known {
  /** Attempts that failed here. */
  failed: number
  /** End of the block for which an attempt has waited in vain; Unix milliseconds, 0 for none. */
  settled: number
  /** When the window of the counter ends; Unix milliseconds. */
  resetsAt: number
}

/**
 * Decides which attempts beyond a limit wait. An attempt counts as a failure until its password is checked, so parallel
 * sign-ins with the right password reach the limit for a moment. An attempt waits only while the counter may include
 * attempts in flight, on this or another replica; after that, a block rejects immediately.
 */
export class AttemptsInFlight {
  readonly #known = new Map<string, Known>()
  readonly #waiting = new Map<string, number>()

  /** Notes a failed attempt. Those of a window that has ended no longer count. */
  failed(name: string, resetsAt: number, now: number): void {
    const known = this.#known.get(name)
    const before = known && known.resetsAt > now ? known.failed : 0
    this.#set(name, { failed: before + 1, settled: 0, resetsAt })
  }

  /** Notes that the counter started again. */
  restarted(name: string): void {
    this.#known.delete(name)
  }

  /** Whether attempts in flight may end the block of a counter that allows `max` failures. */
  mayEnd(name: string, block: { max: number; until: number; now: number }): boolean {
    const known = this.#known.get(name)
    if (!known || known.resetsAt <= block.now) return true
    return known.failed < block.max && known.settled !== block.until
  }

  /** Notes that no attempt in flight ended the block while an attempt waited. */
  settled(name: string, until: number): void {
    const { failed = 0, resetsAt = 0 } = this.#known.get(name) ?? {}
    this.#set(name, { failed, settled: until, resetsAt: Math.max(until, resetsAt) })
  }

  /**
   * Calls `mayStop` every 50 ms, for at most a second, until it returns true. Returns whether it waited: if too many attempts
   * wait for the account or the address, it returns false immediately.
   */
  async wait(account: string, address: string, mayStop: () => Promise<boolean>): Promise<boolean> {
    const places = [
      { key: `account:${account}`, max: maxWaiting.account },
      { key: `address:${address}`, max: maxWaiting.address },
    ]
    if (places.some(({ key, max }) => (this.#waiting.get(key) ?? 0) >= max)) return false
    for (const { key } of places) this.#waiting.set(key, (this.#waiting.get(key) ?? 0) + 1)
    const end = performance.now() + maxWait
    try {
      do await sleep(interval)
      while (!(await mayStop()) && performance.now() < end)
      return true
    } finally {
      for (const { key } of places) {
        const left = (this.#waiting.get(key) ?? 1) - 1
        if (left > 0) this.#waiting.set(key, left)
        else this.#waiting.delete(key)
      }
    }
  }

  #set(name: string, known: Known): void {
    this.#known.delete(name)
    const [oldest] = this.#known.keys()
    if (oldest !== undefined && this.#known.size >= maxCounters) this.#known.delete(oldest)
    this.#known.set(name, known)
  }
}
