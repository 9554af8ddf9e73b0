import { randomBytes } from 'node:crypto'
import { lockUsers } from '../../identity/lock.ts'
import { deleteOutdated } from '../../platform/database/batches.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import { repeatableTypes } from '../../platform/event-types.ts'
import type { Event as EventRow, EventSeal } from '../../platform/generated/postgresql/client.ts'
import type { UserKeys } from './entry.ts'

/** The database, or a transaction. */
export type Reader = { prisma: Database['prisma'] | Tx }

/** Ids in one query. */
const maxIds = 500

/** Events by how they become final: `repeats` are counted for a while. */
export type EventKind = 'plain' | 'repeats'

const kindIs = (kind: EventKind) => ({
  type: kind === 'plain' ? { notIn: [...repeatableTypes] } : { in: [...repeatableTypes] },
})

/** The last seal, or null before the first. */
export const lastSeal = ({ prisma }: Reader): Promise<EventSeal | null> =>
  prisma.eventSeal.findFirst({ orderBy: { id: 'desc' } })

/** Seals after a position, in order. */
export const sealsAfter = ({ prisma }: Reader, id: bigint, take: number): Promise<EventSeal[]> =>
  prisma.eventSeal.findMany({ where: { id: { gt: id } }, orderBy: { id: 'asc' }, take })

/** Seals that another key signed than the one before, in order. Reads no other bodies, which are long. */
export async function sealsWithNewKey({ prisma }: Reader): Promise<EventSeal[]> {
  const found: bigint[] = []
  let former: { id: bigint; key: string } | undefined
  for (;;) {
    const where = { id: { gt: former?.id ?? 0n } }
    const rows = await prisma.eventSeal.findMany({
      where,
      select: { id: true, key: true },
      orderBy: { id: 'asc' },
      take: maxIds,
    })
    for (const row of rows) {
      if (former && former.key !== row.key) found.push(row.id)
      former = row
    }
    if (rows.length < maxIds) return prisma.eventSeal.findMany({ where: { id: { in: found } }, orderBy: { id: 'asc' } })
  }
}

/** The highest id of an event, or 0. */
export const lastEventId = async ({ prisma }: Reader): Promise<bigint> =>
  (await prisma.event.findFirst({ orderBy: { id: 'desc' }, select: { id: true } }))?.id ?? 0n

/** Events of a kind with ids after `after`, up to `until`, in order. */
export const eventsBetween = (
  { prisma }: Reader,
  kind: EventKind,
  { after, until, take }: { after: bigint; until: bigint; take: number },
): Promise<EventRow[]> =>
  prisma.event.findMany({ where: { ...kindIs(kind), id: { gt: after, lte: until } }, orderBy: { id: 'asc' }, take })

/** Events by id. */
export const eventsOf = ({ prisma }: Reader, ids: readonly bigint[]): Promise<EventRow[]> =>
  prisma.event.findMany({ where: { id: { in: [...ids] } }, orderBy: { id: 'asc' } })

/** Locks users against deletion, and returns their keys. Creates those that are missing. */
export async function keysFor(database: Database, tx: Tx, userIds: readonly number[]): Promise<UserKeys> {
  await lockUsers(database, tx, userIds)
  const ids = [...new Set(userIds)].map(BigInt)
  const users = await tx.user.findMany({ where: { id: { in: ids } }, select: { id: true } })
  const known = await keysOf({ prisma: tx }, userIds)
  const missing = users.filter(({ id }) => !known.has(Number(id)))
  const made = missing.map(({ id }) => ({ userId: id, key: randomBytes(32).toString('base64url') }))
  if (made.length > 0) await tx.eventKey.createMany({ data: made })
  return new Map([...known, ...made.map(({ userId, key }) => [Number(userId), key] as const)])
}

/** The keys of these users. */
export async function keysOf({ prisma }: Reader, userIds: readonly number[]): Promise<UserKeys> {
  const rows = await prisma.eventKey.findMany({ where: { userId: { in: [...new Set(userIds)].map(BigInt) } } })
  return new Map(rows.map(({ userId, key }) => [Number(userId), key]))
}

/** Adds a seal. Throws if another process added one at the same position. */
export async function addSeal(tx: Tx, seal: Omit<EventSeal, 'exportedAt'>): Promise<void> {
  await tx.eventSeal.create({ data: seal })
}

/** Ids of the users whose deletion is in the audit trail, and who do not exist. */
export async function deletedUsers({ prisma }: Reader): Promise<ReadonlySet<number>> {
  const rows = await prisma.event.findMany({ where: { type: 'user_deleted' }, select: { userId: true } })
  const ids = rows.flatMap(({ userId }) => userId ?? [])
  const deleted = new Set(ids.map(Number))
  for (let at = 0; at < ids.length; at += maxIds) {
    const where = { id: { in: ids.slice(at, at + maxIds) } }
    for (const { id } of await prisma.user.findMany({ where, select: { id: true } })) deleted.delete(Number(id))
  }
  return deleted
}

/** Deletes the events from before a time. */
export const deleteEvents = (database: Database, before: Date): Promise<number> =>
  deleteOutdated(database, { table: 'events', date: 'created_at', before })

/** Deletes the seals before a position. */
export const deleteSeals = async ({ prisma }: Reader, before: number): Promise<void> =>
  void (await prisma.eventSeal.deleteMany({ where: { id: { lt: BigInt(before) } } }))

/** By when every event should be sealed, in milliseconds. */
const sealedWithin = 4 * 3_600_000

/** Number of events that should be sealed by now, and that no seal covers. `until`: the last ids that seals cover. */
export function countUnsealed(
  { prisma }: Reader,
  until: Readonly<Record<EventKind, string>>,
  now: number,
): Promise<number> {
  const beyond = (kind: EventKind) => ({ ...kindIs(kind), id: { gt: BigInt(until[kind]) } })
  const createdAt = { lt: new Date(now - sealedWithin) }
  return prisma.event.count({ where: { createdAt, OR: [beyond('plain'), beyond('repeats')] } })
}
