import type { Config } from './schema.ts'

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

  /** Puts another snapshot in force for everything that asks from now on. */
  swap(next: Config): void {
    this.#config = deepFreeze(next)
  }
}

/** Freezes a value and everything in it. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) deepFreeze(part)
  }
  return value
}
