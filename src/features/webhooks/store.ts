import type { Database } from '../../platform/database/database.ts'

/** Returns the types of recorded events by id. */
export async function typesOf({ prisma }: Database, ids: readonly bigint[]): Promise<Map<bigint, string>> {
  const rows = await prisma.event.findMany({ where: { id: { in: [...ids] } }, select: { id: true, type: true } })
  return new Map(rows.map(({ id, type }) => [id, type]))
}

/** Returns why the newest message of a kind with a failed attempt was not accepted; null if there is none. */
export async function lastErrorOf({ prisma }: Database, kind: string): Promise<string | null> {
  const row = await prisma.outbox.findFirst({ where: { kind, lastError: { not: null } }, orderBy: { id: 'desc' } })
  return row?.lastError ?? null
}
