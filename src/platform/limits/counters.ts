import type { Tx } from '../database/database.ts'
import type { Sql } from '../database/sql.ts'

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

/** Duration of a growing block, in milliseconds. */
export const growth = { first: 30_000, doublings: 7, maxDelay: 3_600_000 }

/** A hit to count. */
export interface NamedHit {
  name: string
  rule: LimitRule
}

/** A change of a counter: take back one hit, or delete the counter. */
export interface Change {
  name: string
  change: 'undo' | 'reset'
}

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
  /** Does the work of `hitInTurn` in one statement, if the store can. */
  hitTogether?(hits: readonly NamedHit[], now: number): Promise<Hit[]>
  /** Does the work of `takeBack` in one statement, if the store can. */
  changeTogether?(changes: readonly Change[]): Promise<void>
  /** Returns the work of `takeBack` as parts of a WITH clause, which follow the part `after`, if PostgreSQL is the store. */
  changesIn?(changes: readonly Change[], after: string): { name: string; sql: Sql }
  /** Returns the same counters inside a transaction: hits in the database roll back with it. */
  within(tx: Tx): Counters
}

/** Counts hits with different names one after the other, up to the first one that is rejected. */
export async function hitInTurn(counters: Counters, hits: readonly NamedHit[], now: number): Promise<Hit[]> {
  if (counters.hitTogether) return counters.hitTogether(hits, now)
  const counted: Hit[] = []
  for (const { name, rule } of hits) {
    const hit = await counters.hit(name, rule, now)
    counted.push(hit)
    if (!hit.allowed) break
  }
  return counted
}

/** Takes back a hit of each of these counters, or deletes them. */
export async function takeBack(counters: Counters, changes: readonly Change[]): Promise<void> {
  if (counters.changeTogether) return counters.changeTogether(changes)
  for (const { name, change } of changes) await counters[change](name)
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
