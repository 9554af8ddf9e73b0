import { isDeepStrictEqual } from 'node:util'
import type { Config } from './schema.ts'
import { isMapping } from './walk.ts'

/** Holds the one snapshot that is in force; read it once per request and keep nothing of it from boot. */
export class CurrentConfig {
  #config: Config

  constructor(config: Config) {
    this.#config = deepFreeze(config)
  }

  /** The frozen snapshot in force now. */
  current(): Config {
    return this.#config
  }

  /**
   * Puts another snapshot in force for everything that asks from now on. Parts that are the same stay the objects that
   * they were, so that what was made of one of them, such as a connection to a provider, is used on.
   */
  swap(next: Config): void {
    this.#config = deepFreeze(sharing(this.#config, next))
  }
}

/** The next value with the parts of the one before wherever they are equal; all of that one where nothing changed. */
function sharing<Value>(before: unknown, next: Value): Value {
  // Sound: what is equal through and through is of the same type.
  if (isDeepStrictEqual(before, next)) return before as Value
  if (!isMapping(before) || !isMapping(next)) return next
  return Object.fromEntries(Object.entries(next).map(([key, part]) => [key, sharing(before[key], part)])) as Value
}

/** Freezes a value and everything in it. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) deepFreeze(part)
  }
  return value
}
