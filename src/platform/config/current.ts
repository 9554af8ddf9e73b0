import { isDeepStrictEqual } from 'node:util'
import type { Config } from './schema.ts'
import type { ShownValue } from './shown-value.ts'
import { isMapping } from './walk.ts'

type Shown = () => readonly ShownValue[]

/** Holds the active configuration. Read it once per request, and never cache a value from boot. */
export class CurrentConfig {
  #config: Config
  #shown: Shown
  readonly #watchers = new Set<() => void>()

  /** `shown` returns the values with their sources, without secrets. */
  constructor(config: Config, shown: Shown = () => []) {
    this.#config = deepFreeze(config)
    this.#shown = shown
  }

  /** Returns the frozen active snapshot. */
  current(): Config {
    return this.#config
  }

  /** Returns the active values and where each was set, without secrets, for administrators. */
  shown(): readonly ShownValue[] {
    return this.#shown()
  }

  /**
   * Activates another snapshot. Unchanged parts keep their identity, so that objects cached by part, such as provider
   * connections, stay in use.
   */
  swap(next: Config, shown = this.#shown): void {
    this.#config = deepFreeze(sharing(this.#config, next))
    this.#shown = shown
    for (const watcher of this.#watchers) watcher()
  }

  /** Calls `watcher` after each swap, until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }
}

/** Returns `next`, with equal parts taken from `before`. */
function sharing<Value>(before: unknown, next: Value): Value {
  // Sound: deeply equal values have the same type.
  if (isDeepStrictEqual(before, next)) return before as Value
  if (!isMapping(before) || !isMapping(next)) return next
  return Object.fromEntries(Object.entries(next).map(([key, part]) => [key, sharing(before[key], part)])) as Value
}

/** Freezes a value recursively. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) deepFreeze(part)
  }
  return value
}
