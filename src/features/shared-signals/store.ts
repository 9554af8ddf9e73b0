import type { Database } from '../../platform/database/database.ts'
import { signalKinds } from './queue.ts'

/** Returns the oldest jobs of a kind, with their encrypted payloads. */
export const oldestJobs = (
  { prisma }: Database,
  kind: string,
  take: number,
): Promise<{ id: bigint; payload: string }[]> =>
  prisma.outbox.findMany({ where: { kind }, orderBy: { id: 'asc' }, take, select: { id: true, payload: true } })

/** Keeps these jobs when later ones with their merge keys are queued, because a receiver has seen them. */
export const settleJobs = async ({ prisma }: Database, ids: readonly bigint[]): Promise<void> =>
  void (await prisma.outbox.updateMany({
    where: { id: { in: [...ids] }, mergeKey: { not: null } },
    data: { mergeKey: null },
  }))

/** Deletes jobs of a kind. */
export const deleteJobs = async ({ prisma }: Database, kind: string, ids: readonly bigint[]): Promise<void> =>
  void (await prisma.outbox.deleteMany({ where: { kind, id: { in: [...ids] } } }))

/** Rows that one statement deletes. */
const batch = 1_000

/** Deletes signals that were queued before a time and are still waiting or failed. */
export async function deleteOldSignals({ prisma }: Database, before: Date): Promise<void> {
  const where = { kind: { startsWith: signalKinds }, createdAt: { lt: before } }
  for (;;) {
    const rows = await prisma.outbox.findMany({ where, take: batch, orderBy: { id: 'asc' }, select: { id: true } })
    await prisma.outbox.deleteMany({ where: { id: { in: rows.map(({ id }) => id) } } })
    if (rows.length < batch) return
  }
}
