import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import module, { syncBuiltinESMExports } from 'node:module'
import type { Duplex } from 'node:stream'
import pg from 'pg'

/** What happens to a statement or a call that waits at the gate. */
export type Fate = 'pass' | 'lost' | 'unanswered'

/** A statement, a call or a pause of an operation that waits until the scheduler lets it pass. */
export interface Waiting {
  operation: number
  /** Position among those of the operation. */
  position: number
  /** First words of the statement, or a name. */
  label: string
  release(fate: Fate): void
}

interface Operation {
  id: number
  entered: number
}

type Query = (this: pg.Client, ...args: unknown[]) => unknown

/** Milliseconds from which a timer is a timeout and not a pause. */
const longPause = 2_000

/** Number of turns of the event loop without a change after which the process counts as idle. */
const enough = 40

/** Error of a connection that broke. */
const broken = (): Error => Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })

/**
 * Stops each statement that an operation sends to PostgreSQL, on all connections of this process, until the scheduler lets it
 * pass. Statements that belong to no operation, such as those of jobs, pass.
 */
export class Gate {
  readonly waiting: Waiting[] = []
  /** The connection of the simulation itself, whose statements always pass. */
  monitor: pg.Client | null = null
  readonly #operations = new AsyncLocalStorage<Operation>()
  /** Process ids of the connections whose statements PostgreSQL is running. */
  readonly #running = new Map<symbol, number>()
  /** Work outside of PostgreSQL that operations wait for, such as hashing. */
  #busy = 0
  #isOpen = true
  #changes = 0

  constructor() {
    const { query } = pg.Client.prototype as unknown as { query: Query }
    const gate = this
    const stopped: Query = function (...args) {
      if (this === gate.monitor) return query.apply(this, args)
      const operation = gate.#operations.getStore()
      if (operation) return gate.#stop(this, query, args, operation)
      const result = query.apply(this, args)
      // Jobs use connections for which operations may wait.
      if (result instanceof Promise) gate.watch(result)
      return result
    }
    Object.assign(pg.Client.prototype, { query: stopped })
    this.#countConnections()
    this.#stopPauses()
  }

  close(): void {
    this.#isOpen = false
  }

  /** Lets everything pass from now on. */
  open(): void {
    this.#isOpen = true
    for (const waiting of [...this.waiting]) waiting.release('pass')
  }

  /** Runs an operation, whose statements stop at the gate while it is closed. */
  run<Result>(id: number, work: () => Promise<Result>): Promise<Result> {
    return this.#operations.run({ id, entered: 0 }, work)
  }

  /** Stops a call to another service at the gate, in the same way as a statement. */
  async call<Result>(label: string, work: () => Result): Promise<Result> {
    const operation = this.#operations.getStore()
    if (!operation) return work()
    operation.entered++
    const fate = await this.#enter(operation, label)
    if (fate === 'lost') throw broken()
    const result = work()
    if (fate === 'unanswered') throw broken()
    return result
  }

  /** Lets the scheduler wait for a statement that does not stop at the gate. */
  watch(statement: Promise<unknown>): void {
    this.counted(() => statement)(null).catch(() => undefined)
  }

  /** Wraps work outside of PostgreSQL, so that the scheduler waits for it. */
  counted =
    <Input, Output>(work: (input: Input) => Promise<Output>) =>
    async (input: Input): Promise<Output> => {
      this.#busy++
      try {
        return await work(input)
      } finally {
        this.#busy--
        this.#changes++
      }
    }

  /**
   * Waits until nothing moves: every operation waits at the gate, for a lock in PostgreSQL, or for another operation.
   * `lockedPids` returns the connections that wait for a lock.
   */
  async settle(lockedPids: () => Promise<ReadonlySet<number>>): Promise<void> {
    for (let calm = 0, locked = 0; calm < enough; ) {
      const before = this.#changes
      await new Promise((done) => setImmediate(done))
      if (this.#busy > 0 || this.#changes !== before) {
        calm = locked = 0
        continue
      }
      calm++
      if (this.#running.size === 0 || calm < enough) continue
      const pids = await lockedPids()
      const isStuck = this.#changes === before && [...this.#running.values()].every((pid) => pids.has(pid))
      locked = isStuck ? locked + 1 : 0
      calm = locked >= 2 ? enough : 0
    }
    this.waiting.sort((a, b) => a.operation - b.operation || a.position - b.position)
  }

  /** An operation may wait for a new connection. */
  #countConnections(): void {
    const { connect } = pg.Client.prototype as unknown as { connect(this: pg.Client): Promise<void> }
    const counted = this.counted((client: pg.Client) => connect.call(client))
    function connecting(this: pg.Client, callback?: (error?: unknown) => void): Promise<void> | undefined {
      const done = counted(this)
      if (!callback) return done
      done.then(
        () => callback(),
        (error) => callback(error),
      )
      return undefined
    }
    Object.assign(pg.Client.prototype, { connect: connecting })
  }

  /** Waits until the scheduler lets the operation continue. */
  #enter({ id, entered }: Operation, label: string): Promise<Fate> {
    this.#changes++
    if (this.#isOpen) return Promise.resolve('pass')
    return new Promise((resolve) => {
      const waiting: Waiting = {
        ...{ operation: id, position: entered, label },
        release: (fate) => {
          this.waiting.splice(this.waiting.indexOf(waiting), 1)
          this.#changes++
          resolve(fate)
        },
      }
      this.waiting.push(waiting)
    })
  }

  #stop(client: pg.Client, query: Query, args: unknown[], operation: Operation): unknown {
    const callback = args.findLast((each) => typeof each === 'function') as ((...given: unknown[]) => void) | undefined
    const given = callback ? args.filter((each) => each !== callback) : args
    operation.entered++
    const result = this.#enter(operation, labelOf(args[0])).then((fate) => this.#send(client, query, given, fate))
    if (!callback) return result
    result.then(
      (value) => callback(null, value),
      (error) => callback(error),
    )
    return undefined
  }

  async #send(client: pg.Client, query: Query, args: unknown[], fate: Fate): Promise<unknown> {
    const { processID = 0, connection } = client as unknown as { processID?: number; connection: { stream: Duplex } }
    if (fate === 'lost') return this.#breakUp(connection.stream)
    const key = Symbol('statement')
    this.#running.set(key, processID)
    try {
      const result = await query.apply(client, args)
      if (fate === 'pass') return result
    } finally {
      this.#running.delete(key)
      this.#changes++
    }
    return this.#breakUp(connection.stream)
  }

  /** Breaks a connection, and waits until its pool knows. */
  #breakUp = this.counted(async (stream: Duplex): Promise<never> => {
    stream.destroy()
    if (!stream.closed) await once(stream, 'close')
    throw broken()
  })

  /** A pause of an operation, such as the one before a retry, takes as long as the scheduler wants. */
  #stopPauses(): void {
    const timers = module.createRequire(import.meta.url)('node:timers/promises')
    const { setTimeout: pause } = timers
    timers.setTimeout = (...args: unknown[]) => {
      const operation = this.#operations.getStore()
      return operation ? this.#pause(operation).then(() => args[1]) : pause(...args)
    }
    syncBuiltinESMExports()
    const { setTimeout: later, clearTimeout: cancel } = globalThis
    const cancelled = new WeakSet<object>()
    const stopped = (work: (...given: unknown[]) => void, delay = 0, ...given: unknown[]) => {
      const operation = this.#operations.getStore()
      // Longer ones are timeouts, which no operation reaches.
      if (!operation || this.#isOpen || delay >= longPause) return later(work, delay, ...given)
      const timer = later(() => undefined, 2 ** 30).unref()
      void this.#pause(operation).then(() => {
        cancel(timer)
        if (!cancelled.has(timer)) work(...given)
      })
      return timer
    }
    const forget = (timer: NodeJS.Timeout | undefined) => {
      if (timer) cancelled.add(timer)
      cancel(timer)
    }
    Object.assign(globalThis, {
      setTimeout: stopped,
      clearTimeout: forget,
      setInterval: () => later(() => undefined, 0),
    })
  }

  #pause(operation: Operation): Promise<Fate> {
    operation.entered++
    return this.#enter(operation, 'pause')
  }
}

/** The kind of a statement and its table. */
function labelOf(query: unknown): string {
  const text = typeof query === 'string' ? query : String(Object(query).text ?? 'cursor')
  const [verb = ''] = text.trim().split(/\s+/)
  const [, table = ''] = /(?:FROM|INTO|UPDATE|TABLE)\s+(?:"public"\.)?"?(\w+)"?/i.exec(text) ?? []
  return `${verb.toUpperCase()} ${table}`.trim().slice(0, 40)
}
