import type { Counters, Hit, LimitRule } from '../limits/counters.ts'
import type { CounterCall } from './messages.ts'

interface Batch {
  calls: CounterCall[]
  callers: ((result: unknown) => void)[]
}

/**
 * Counters in the memory of the primary, for limits that must count over all workers. All calls within one turn of the event
 * loop share one message.
 */
export class SharedCounters implements Counters {
  readonly #send: (id: number, calls: CounterCall[]) => void
  readonly #sent = new Map<number, Batch>()
  #next: Batch | null = null
  #id = 0

  constructor(send: (id: number, calls: CounterCall[]) => void) {
    this.#send = send
  }

  hit(name: string, rule: LimitRule, now: number): Promise<Hit> {
    return this.#call(['hit', name, rule, now])
  }

  blockedUntil(name: string, rule: LimitRule, now: number): Promise<number | null> {
    return this.#call(['blockedUntil', name, rule, now])
  }

  undo(name: string): Promise<void> {
    return this.#call(['undo', name])
  }

  reset(name: string): Promise<void> {
    return this.#call(['reset', name])
  }

  within(): Counters {
    return this
  }

  /** Takes the results from the primary. */
  take(id: number, results: readonly unknown[]): void {
    const batch = this.#sent.get(id)
    this.#sent.delete(id)
    for (const [index, resolve] of batch?.callers.entries() ?? []) resolve(results[index])
  }

  /** Sound: the primary calls the same method of `MemoryCounters`, whose results are JSON. */
  #call<Result>(call: CounterCall): Promise<Result> {
    return new Promise<unknown>((resolve) => {
      if (!this.#next) {
        this.#next = { calls: [], callers: [] }
        setImmediate(() => this.#flush())
      }
      this.#next.calls.push(call)
      this.#next.callers.push(resolve)
    }) as Promise<Result>
  }

  #flush(): void {
    const batch = this.#next
    if (!batch) return
    this.#next = null
    this.#sent.set(++this.#id, batch)
    this.#send(this.#id, batch.calls)
  }
}

function count(counters: Counters, call: CounterCall): Promise<unknown> {
  switch (call[0]) {
    case 'hit':
    case 'blockedUntil':
      return counters[call[0]](call[1], call[2], call[3])
    default:
      return counters[call[0]](call[1])
  }
}

/** Makes the calls of a worker, in their order. */
export const countFor = (counters: Counters, calls: readonly CounterCall[]): Promise<unknown[]> =>
  Promise.all(calls.map((call) => count(counters, call)))
