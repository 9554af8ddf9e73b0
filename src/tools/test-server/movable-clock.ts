import type { Clock } from '../../platform/clock.ts'

/**
 * A clock that tests move forward. It shifts `Date` for the whole process, because the libraries that issue and check
 * tokens read it too. Timers keep their pace.
 */
export class MovableClock implements Clock {
  #ahead = 0
  readonly #real = Date

  constructor() {
    const now = () => this.now()
    globalThis.Date = new Proxy(this.#real, {
      construct: (real, given, target) => Reflect.construct(real, given.length === 0 ? [now()] : given, target),
      apply: (real) => new real(now()).toString(),
      get: (real, name) => (name === 'now' ? now : Reflect.get(real, name)),
    })
  }

  now(): number {
    return this.#real.now() + this.#ahead
  }

  advance(milliseconds: number): void {
    this.#ahead += milliseconds
  }
}
