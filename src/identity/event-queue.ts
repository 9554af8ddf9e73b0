import type { Database } from '../platform/database/database.ts'
import { type ListedEvent, toEvent } from './event-list.ts'

/** Row of `jobs` that holds the lease. */
const name = 'event-export'

/** Events that wait for the export. */
export interface ExportBacklog {
  count: number
  /** Time of the oldest waiting event; null if none waits. */
  since: Date | null
}

/** Takes the lease of the export until a time. `held` is the end of the lease that this process has, if any. */
export async function takeLease({ prisma }: Database, now: Date, until: Date, held: Date | null): Promise<boolean> {
  const mine = held && (await prisma.job.updateMany({ where: { name, lastRunAt: held }, data: { lastRunAt: until } }))
  if (mine && mine.count > 0) return true
  const free = await prisma.job.updateMany({ where: { name, lastRunAt: { lte: now } }, data: { lastRunAt: until } })
  if (free.count > 0) return true
  if (await prisma.job.findUnique({ where: { name } })) return false
  // Two processes may try to create the row; one of them fails.
  return prisma.job.create({ data: { name, lastRunAt: until } }).then(
    () => true,
    () => false,
  )
}

/** Ends the lease. */
export const endLease = async ({ prisma }: Database, held: Date): Promise<void> =>
  void (await prisma.job.updateMany({ where: { name, lastRunAt: held }, data: { lastRunAt: new Date(0) } }))

/** Returns the oldest events that were not exported. */
export async function eventsToExport({ prisma }: Database, before: Date, take: number): Promise<ListedEvent[]> {
  const rows = await prisma.event.findMany({
    where: { exportedAt: null, createdAt: { lte: before } },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    take,
  })
  return rows.map(toEvent)
}

/** Marks events as exported, unless they were repeated meanwhile. */
export async function markExported({ prisma }: Database, events: readonly ListedEvent[], at: Date): Promise<void> {
  const once = events.filter(({ times }) => times === 1).map(({ id }) => id)
  await prisma.event.updateMany({ where: { id: { in: once }, repeats: 0 }, data: { exportedAt: at } })
  for (const { id, times } of events) {
    if (times === 1) continue
    await prisma.event.updateMany({ where: { id, repeats: times - 1 }, data: { exportedAt: at } })
  }
}

/** Returns the number and the oldest time of the events that wait. */
export async function exportBacklog({ prisma }: Database): Promise<ExportBacklog> {
  const where = { exportedAt: null }
  const count = await prisma.event.count({ where })
  const first = await prisma.event.findFirst({ where, orderBy: { createdAt: 'asc' }, select: { createdAt: true } })
  return { count, since: first?.createdAt ?? null }
}
