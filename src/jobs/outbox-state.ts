import type { Database } from '../database/database.ts'

/** The work of one kind that is not done. */
export interface WorkState {
  pending: number
  /** Given up, and kept for an operator to see. */
  failed: number
  /** Of the oldest that waits, in milliseconds. */
  age: number
}

/** What is not done of each kind: of those that are there, and of those that are named. */
export async function workStates(
  { prisma }: Database,
  kinds: readonly string[],
  now: number,
): Promise<Map<string, WorkState>> {
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
