import type { Database } from '../../platform/database/database.ts'
import type { Event } from '../../platform/generated/postgresql/client.ts'
import { signalKinds } from './queue.ts'

/** Returns a recorded event; null if it was deleted. */
export const findEvent = ({ prisma }: Database, id: bigint): Promise<Event | null> =>
  prisma.event.findUnique({ where: { id } })

/** The oldest jobs of a kind, with their encrypted payloads. */
export const oldestJobs = (
  { prisma }: Database,
  kind: string,
  take: number,
): Promise<{ id: bigint; payload: string }[]> =>
  prisma.outbox.findMany({ where: { kind }, orderBy: { id: 'asc' }, take, select: { id: true, payload: true } })

/** Deletes jobs of a kind. */
export const deleteJobs = async ({ prisma }: Database, kind: string, ids: readonly bigint[]): Promise<void> =>
  void (await prisma.outbox.deleteMany({ where: { kind, id: { in: [...ids] } } }))

/** Deletes the jobs that nobody polled since a time. */
export const deleteOldSignals = async ({ prisma }: Database, before: Date): Promise<void> =>
  void (await prisma.outbox.deleteMany({ where: { kind: { startsWith: signalKinds }, createdAt: { lt: before } } }))
