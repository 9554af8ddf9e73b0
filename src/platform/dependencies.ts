/** Receives the log lines. */
interface Log {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
}

/** Something that svc calls, such as the mail server. Logs once when it stops working, with the reason, and once when it works again. */
export class Dependency {
  readonly name: string
  readonly #log: Log | undefined
  #failedAt: number | null = null

  constructor(name: string, log: Log | undefined) {
    this.name = name
    this.#log = log
  }

  get works(): boolean {
    return this.#failedAt === null
  }

  /** Notes that a call failed; `reason` is an error or a text without secrets. */
  failed(reason: unknown): void {
    if (this.#failedAt !== null) return
    this.#failedAt = performance.now()
    const text = reasonOf(reason)
    const code = reason instanceof Error && 'code' in reason ? { code: reason.code } : {}
    this.#log?.warn({ dependency: this.name, ...code, reason: text }, `${this.name} does not work: ${text}`)
  }

  /** Notes that a call succeeded. */
  worked(): void {
    if (this.#failedAt === null) return
    const seconds = Math.round((performance.now() - this.#failedAt) / 1000)
    this.#failedAt = null
    this.#log?.info({ dependency: this.name, after_s: seconds }, `${this.name} works again after ${seconds} s`)
  }
}

/** Returns the message of an error, or all messages if connections to several addresses failed. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join(', ')
  return error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error)
}

/** What a process calls, except the database. */
export class Dependencies {
  readonly #log: Log
  readonly #all = new Map<string, Dependency>()

  constructor(log: Log) {
    this.#log = log
  }

  /** Returns the dependency with this key, and adds it on first use. Several may have the same name. */
  of(name: string, key = name): Dependency {
    const known = this.#all.get(key) ?? new Dependency(name, this.#log)
    this.#all.set(key, known)
    return known
  }

  /** Forgets a dependency that the configuration no longer has. */
  remove(key: string): void {
    this.#all.delete(key)
  }

  /** Whether all dependencies of each name work. */
  states(): Map<string, boolean> {
    const states = new Map<string, boolean>()
    for (const { name, works } of this.#all.values()) states.set(name, works && states.get(name) !== false)
    return states
  }
}
