import type { Database } from '../../platform/database/database.ts'
import type { Event } from '../../platform/generated/postgresql/client.ts'
import { webhookKinds } from './queue.ts'

/** Returns a recorded event; null if it was deleted. */
export const findEvent = ({ prisma }: Database, id: bigint): Promise<Event | null> =>
  prisma.event.findUnique({ where: { id } })

/** Returns the types of recorded events by id. */
export async function typesOf({ prisma }: Database, ids: readonly bigint[]): Promise<Map<bigint, string>> {
  const rows = await prisma.event.findMany({ where: { id: { in: [...ids] } }, select: { id: true, type: true } })
  return new Map(rows.map(({ id, type }) => [id, type]))
}

/** A message that svc no longer tries to send. */
export interface FailedMessage {
  id: bigint
  kind: string
  payload: string
  attempts: number
  lastError: string | null
  createdAt: Date
  failedAt: Date | null
}

/** Lists failed messages, newest first, from those before an id. */
export const listFailed = (
  { prisma }: Database,
  { before, limit }: { before: bigint | null; limit: number },
): Promise<FailedMessage[]> =>
  prisma.outbox.findMany({
    where: { kind: { startsWith: webhookKinds }, failedAt: { not: null }, ...(before && { id: { lt: before } }) },
    orderBy: { id: 'desc' },
    take: limit,
    select: { id: true, kind: true, payload: true, attempts: true, lastError: true, createdAt: true, failedAt: true },
  })

/** Returns why the newest message of a kind with a failed attempt was not accepted; null if there is none. */
export async function lastErrorOf({ prisma }: Database, kind: string): Promise<string | null> {
  const row = await prisma.outbox.findFirst({ where: { kind, lastError: { not: null } }, orderBy: { id: 'desc' } })
  return row?.lastError ?? null
}

/** Makes failed messages due again: those with the ids, of a kind, or all. Returns their number. */
export async function replayFailed(
  { prisma }: Database,
  { ids, kind }: { ids?: readonly bigint[]; kind?: string },
  now: number,
): Promise<number> {
  const { count } = await prisma.outbox.updateMany({
    where: {
      kind: kind ?? { startsWith: webhookKinds },
      failedAt: { not: null },
      ...(ids && { id: { in: [...ids] } }),
    },
    data: { failedAt: null, attempts: 0, availableAt: new Date(now), lockedUntil: null },
  })
  return count
}
