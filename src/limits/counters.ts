import type { Tx } from '../database/database.ts'

/** Maximum hits per window, and the block that follows. */
export interface LimitRule {
  max: number
  /** Milliseconds, from the first hit. */
  window: number
  /**
   * `window`: blocked until the window ends. `growing`: blocked for 30 s, doubled by each further hit up to one hour,
   * until a whole window passes without one.
   */
  block: 'window' | 'growing'
}

/** A counted hit and the end of its window, or the end of the block that rejected it; in Unix milliseconds. */
export type Hit = { allowed: true; count: number; resetsAt: number } | { allowed: false; until: number }

/** Growth of a growing block, in milliseconds. */
export const growth = { first: 30_000, doublings: 7, maxDelay: 3_600_000 }

/**
 * Counters by name. Every limit of svc counts here. One atomic step decides about a hit, so that at most `max` of many
 * concurrent requests pass. `now` is in Unix milliseconds.
 */
export interface Counters {
  /** Counts a hit, or rejects it during a block. */
  hit(name: string, rule: LimitRule, now: number): Promise<Hit>
  /** Returns the time (Unix ms) until which the name is blocked, or null. Counts nothing. */
  blockedUntil(name: string, rule: LimitRule, now: number): Promise<number | null>
  /** Takes one hit back and ends the block. */
  undo(name: string): Promise<void>
  /** Deletes the counter. */
  reset(name: string): Promise<void>
  /** Returns the same counters inside a transaction: hits in the database roll back with it. */
  within(tx: Tx): Counters
}

/** A counter: the hits of a window that ends at `resetsAt`. */
export interface Counter {
  count: number
  resetsAt: number
  /** Zero without a block. */
  blockedUntil: number
}

/** Tests whether a block applies. A block for the rest of the window ends when the maximum is raised. */
export const isBlocked = ({ count, blockedUntil }: Counter, { max, block }: LimitRule, now: number): boolean =>
  blockedUntil > now && (block === 'growing' || count >= max)
