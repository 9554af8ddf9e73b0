/** The one source of time: tests move it. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number
}

/** The system's clock. */
export const systemClock: Clock = { now: () => Date.now() }
