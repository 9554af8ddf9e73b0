import { type Counter, type Counters, growth, type Hit, isBlocked, type LimitRule } from './counters.ts'

/** Maximum number of counters; the oldest is dropped first. */
const maxCounters = 10_000

/** Counters in the memory of this process. Only for limits that replicas need not share. */
export class MemoryCounters implements Counters {
  readonly #counters = new Map<string, Counter>()

  async hit(name: string, rule: LimitRule, now: number): Promise<Hit> {
    const known = this.#counters.get(name)
    if (known && isBlocked(known, rule, now)) return { allowed: false, until: known.blockedUntil }
    const counter = next(known, rule, now)
    this.#counters.set(name, counter)
    const [oldest] = this.#counters.keys()
    if (this.#counters.size > maxCounters && oldest !== undefined) this.#counters.delete(oldest)
    return { allowed: true, count: counter.count, resetsAt: counter.resetsAt }
  }

  async blockedUntil(name: string, rule: LimitRule, now: number): Promise<number | null> {
    const known = this.#counters.get(name)
    return known && isBlocked(known, rule, now) ? known.blockedUntil : null
  }

  async undo(name: string): Promise<void> {
    const known = this.#counters.get(name)
    if (!known || known.count <= 1) this.#counters.delete(name)
    else this.#counters.set(name, { ...known, count: known.count - 1, blockedUntil: 0 })
  }

  async reset(name: string): Promise<void> {
    this.#counters.delete(name)
  }

  within(): Counters {
    return this
  }
}

/** Returns the counter after a hit that is not blocked. */
function next(known: Counter | undefined, { max, window, block }: LimitRule, now: number): Counter {
  if (!known || known.resetsAt <= now)
    return { count: 1, resetsAt: now + window, blockedUntil: max <= 1 ? now + window : 0 }
  const count = known.count + 1
  if (count < max) return { count, resetsAt: known.resetsAt, blockedUntil: 0 }
  if (block === 'window') return { count, resetsAt: known.resetsAt, blockedUntil: known.resetsAt }
  const doublings = count - max
  const delay = doublings >= growth.doublings ? growth.maxDelay : growth.first * 2 ** doublings
  return { count, resetsAt: now + window, blockedUntil: now + delay }
}
