import type { Clock } from '../../src/platform/clock.ts'

/** A clock that is stopped until it is moved. */
export class TestClock implements Clock {
  #now: number

  constructor(start = Date.parse('2026-11-20T12:00:00.000Z')) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  /** Advances by this many milliseconds. */
  advance(milliseconds: number): void {
    this.#now += milliseconds
  }
}

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour
