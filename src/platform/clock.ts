/** The only source of time. Tests replace it with a clock that they can move. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number
}

/** The system's clock. */
export const systemClock: Clock = { now: () => Date.now() }
