import type { Database, Tx } from '../database/database.ts'

/** A job that svc no longer tries to run. */
export interface FailedJob {
  id: bigint
  kind: string
  payload: string
  attempts: number
  lastError: string | null
  createdAt: Date
  failedAt: Date | null
}

/** Lists failed jobs whose kind starts with a text, newest first, from those before an id. */
export const listFailed = (
  { prisma }: Database,
  { kinds = '', before, limit }: { kinds?: string; before: bigint | null; limit: number },
): Promise<FailedJob[]> =>
  prisma.outbox.findMany({
    where: { kind: { startsWith: kinds }, failedAt: { not: null }, ...(before && { id: { lt: before } }) },
    orderBy: { id: 'desc' },
    take: limit,
    select: { id: true, kind: true, payload: true, attempts: true, lastError: true, createdAt: true, failedAt: true },
  })

/** Makes failed jobs due again: those with the ids, of a kind, or whose kind starts with a text. Returns their number. */
export async function retryFailed(
  { prisma }: Database | { prisma: Tx },
  { ids, kind, kinds = '' }: { ids?: readonly bigint[]; kind?: string; kinds?: string },
  now: number,
): Promise<number> {
  const { count } = await prisma.outbox.updateMany({
    where: {
      kind: kind ?? { startsWith: kinds },
      failedAt: { not: null },
      ...(ids && { id: { in: [...ids] } }),
    },
    data: { failedAt: null, attempts: 0, availableAt: new Date(now), lockedUntil: null },
  })
  return count
}
