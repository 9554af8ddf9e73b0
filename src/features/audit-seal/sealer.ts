import type { FastifyInstance } from 'fastify'
import type { Tx } from '../../platform/database/database.ts'
import { isUniqueViolation } from '../../platform/database/unique.ts'
import type { Event as EventRow, EventSeal } from '../../platform/generated/postgresql/client.ts'
import { type Body, beginning, bodyOf, nextSeal } from './chain.ts'
import { entryOf, ownersOf } from './entry.ts'
import { HeadKeys } from './signing-key.ts'
import {
  addSeal,
  deleteEvents,
  deleteSeals,
  eventsBetween,
  eventsOf,
  keysFor,
  lastEventId,
  lastSeal,
  sealsAfter,
} from './store.ts'

/** Events in one seal. */
const batch = 500

/**
 * How long svc waits until it seals an event, in milliseconds. A transaction that took a lower id may commit later, but not
 * that much later.
 */
const settling = 60_000

/** How often the retention tries to add its checkpoint. */
const maxTries = 10

/** How long equal failures share a row after its creation, in milliseconds, and until svc seals it. */
const repeatsFor = 2 * 3_600_000

type Parts = Pick<FastifyInstance, 'database' | 'clock' | 'config'>

declare module 'fastify' {
  interface FastifyInstance {
    sealer: Sealer
  }
}

/** Seals the events that are final. */
export class Sealer {
  readonly #parts: Parts
  /** The highest id at a time, so that later the events up to it are known to be complete. */
  #seen: { id: bigint; at: number } | null = null

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Seals all final events. Returns the number of events. */
  async run(): Promise<number> {
    const { database, clock } = this.#parts
    const now = clock.now()
    const seen = this.#seen
    if (!seen || now - seen.at >= settling) this.#seen = { id: await lastEventId(database), at: now }
    if (!seen || now - seen.at < settling) return 0
    let total = 0
    for (;;) {
      if (database.closing?.aborted) return total
      const sealed = await this.#add(async (tx, last) => this.#next(tx, last, { until: seen.id, now }))
      if (sealed === null) return total
      total += sealed
    }
  }

  /** Deletes the events from before a time, and says so in the chain first. */
  async retain(since: number): Promise<void> {
    const { database } = this.#parts
    // Another process may add a seal meanwhile.
    for (let tries = 0; tries < maxTries; tries++) {
      const last = await lastSeal(database)
      if (!last || bodyOf(last).retained_since >= since) break
      const first_seal = await this.#firstSeal(since)
      await this.#add(async () => ({ retained_since: since, first_seal }))
    }
    const checkpoint = await lastSeal(database)
    const { retained_since, first_seal } = checkpoint ? bodyOf(checkpoint) : { retained_since: since, first_seal: 1 }
    await deleteEvents(database, new Date(Math.min(since, retained_since)))
    await deleteSeals(database, first_seal)
  }

  /** The first seal that has an event from a time on. */
  async #firstSeal(since: number): Promise<number> {
    let after = 0n
    for (;;) {
      const [seal] = await sealsAfter(this.#parts.database, after, 1)
      if (!seal) return Number(after) + 1
      const { latest, events } = bodyOf(seal)
      if ((events.length > 0 ? latest : seal.sealedAt.getTime()) >= since) return Number(seal.id)
      after = seal.id
    }
  }

  /** Adds a seal with the changes, unless there are none. Returns the number of its events; null if it added none. */
  async #add(change: (tx: Tx, last: EventSeal | null) => Promise<Partial<Body> | null>): Promise<number | null> {
    const { database, config, clock } = this.#parts
    const keys = new HeadKeys(config.current().app.secret)
    try {
      return await database.transaction(async (tx) => {
        const last = await lastSeal({ prisma: tx })
        const changes = await change(tx, last)
        if (!changes) return null
        await addSeal(tx, nextSeal(last, changes, { keys, now: clock.now() }))
        return changes.events?.length ?? 0
      })
    } catch (error) {
      // Another process added a seal meanwhile, and continues.
      if (isUniqueViolation(error)) return null
      throw error
    }
  }

  async #next(
    tx: Tx,
    last: EventSeal | null,
    { until, now }: { until: bigint; now: number },
  ): Promise<Partial<Body> | null> {
    const before = last ? bodyOf(last) : beginning
    const plain = await eventsBetween({ prisma: tx }, 'plain', { after: BigInt(before.plain[1]), until, take: batch })
    const counted = await eventsBetween({ prisma: tx }, 'repeats', {
      after: BigInt(before.repeats[1]),
      until,
      take: batch,
    })
    // A time in the future does not hold the others up. Nothing else can change such a row.
    const isFinal = (age: number) => age >= repeatsFor || age < -repeatsFor
    const end = counted.findIndex(({ createdAt }) => !isFinal(now - createdAt.getTime()))
    const repeats = end < 0 ? counted : counted.slice(0, end)
    if (plain.length === 0 && repeats.length === 0) return null
    const rows = await this.#locked(tx, [...plain, ...repeats])
    const upTo = (span: Body['plain'], found: readonly EventRow[]) =>
      [span[1], String(found.at(-1)?.id ?? span[1])] as const
    return {
      plain: upTo(before.plain, plain),
      repeats: upTo(before.repeats, repeats),
      latest: Math.max(...rows.events.map(({ createdAt }) => createdAt.getTime())),
      events: rows.events.map((row) => entryOf(row, rows.keys)),
    }
  }

  /** Locks the users of events against deletion, and reads the events again. */
  async #locked(tx: Tx, found: readonly EventRow[]) {
    const owners = found.flatMap((row) => Object.values(ownersOf(row)).filter((id) => id !== null))
    const keys = await keysFor(this.#parts.database, tx, owners)
    const ids = found.map(({ id }) => id)
    return { keys, events: await eventsOf({ prisma: tx }, ids) }
  }
}
