import type { Database } from '../database/database.ts'

/** Unfinished jobs of one kind. */
export interface OutboxState {
  pending: number
  /** Failed permanently, and kept for inspection. */
  failed: number
  /** Age of the oldest pending job in milliseconds. */
  age: number
}

/** Returns the state of each kind with unfinished jobs, and of the named kinds. */
export async function outboxStates(
  { prisma }: Database,
  kinds: readonly string[],
  now: number,
): Promise<Map<string, OutboxState>> {
  const [waiting, lost] = await Promise.all([
    prisma.outbox.groupBy({ by: ['kind'], where: { failedAt: null }, _count: true, _min: { createdAt: true } }),
    prisma.outbox.groupBy({ by: ['kind'], where: { failedAt: { not: null } }, _count: true }),
  ])
  const all = new Set([...kinds, ...[...waiting, ...lost].map(({ kind }) => kind)])
  return new Map(
    [...all].map((kind) => {
      const due = waiting.find((row) => row.kind === kind)
      const failed = lost.find((row) => row.kind === kind)?._count ?? 0
      return [kind, { pending: due?._count ?? 0, failed, age: now - (due?._min.createdAt?.getTime() ?? now) }]
    }),
  )
}
