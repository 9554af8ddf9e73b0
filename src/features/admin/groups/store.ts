import type { Database, Tx } from '../../../platform/database/database.ts'
import { query } from '../../../platform/database/statements.ts'

/** A group of the database. */
interface GroupRow {
  name: string
  description: string | null
}

/** Groups after the cursor, sorted by code units, whatever the collation of the database. */
export async function groupRows(
  database: Database,
  { after, take }: { after: string; take: number },
): Promise<GroupRow[]> {
  const collation = database.engine === 'postgresql' ? ' COLLATE "C"' : ''
  const text = `SELECT name, description FROM user_groups WHERE name${collation} > $1 ORDER BY name${collation} LIMIT $2`
  const rows = await query(database, { name: 'groups-after', text }, [after, take])
  return rows.map(({ name, description }) => ({
    name: String(name),
    description: description === null || description === undefined ? null : String(description),
  }))
}

/** Returns a group of the database; null without a row. */
export const findGroup = ({ prisma }: Database, name: string): Promise<GroupRow | null> =>
  prisma.group.findUnique({ where: { name } })

/** Number of users in each of these groups. */
export async function memberCounts(database: Database, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (names.length === 0) return new Map()
  const list = database.engine === 'sqlite' ? 'IN (SELECT value FROM json_each($1))' : '= ANY(CAST($1 AS TEXT[]))'
  // A user can be in a group for several reasons.
  const text = `SELECT group_name, COUNT(DISTINCT user_id) AS members
    FROM group_memberships WHERE group_name ${list} GROUP BY group_name`
  const value = database.engine === 'sqlite' ? JSON.stringify(names) : [...names]
  const rows = await query(database, { name: 'group-member-counts', text }, [value])
  return new Map(rows.map((row) => [String(row.group_name), Number(row.members)]))
}

/** Ids of the members of a group after the cursor, in ascending order. */
export async function memberIds(
  database: Database,
  name: string,
  { after, take }: { after: number; take: number },
): Promise<bigint[]> {
  const text = `SELECT DISTINCT user_id FROM group_memberships
    WHERE group_name = $1 AND user_id > CAST($2 AS BIGINT) ORDER BY user_id LIMIT $3`
  const rows = await query(database, { name: 'group-members-after', text }, [name, after, take])
  return rows.map((row) => BigInt(row.user_id as string | number | bigint))
}

/** The memberships of these users in a group. */
export function memberRows({ prisma }: Database, name: string, ids: readonly bigint[]) {
  return prisma.groupMembership.findMany({
    where: { groupName: name, userId: { in: [...ids] } },
    include: { user: { select: { email: true, name: true } } },
  })
}

/** Creates a group; false if it exists. */
export async function insertGroup(
  tx: Tx,
  { name, description, now }: { name: string; description: string | null; now: number },
): Promise<boolean> {
  const createdAt = new Date(now)
  const count = await tx.$executeRaw`
    INSERT INTO user_groups (name, description, created_at) VALUES (${name}, ${description}, ${createdAt})
    ON CONFLICT (name) DO NOTHING`
  return count > 0
}

/** Deletes a group unless it has a member. */
export async function deleteEmptyGroup(tx: Tx, engine: Database['engine'], name: string): Promise<boolean> {
  // Waits for transactions that add a member. The next statement sees what they wrote.
  if (engine === 'postgresql') await tx.$queryRaw`SELECT 1 FROM user_groups WHERE name = ${name} FOR UPDATE`
  if ((await tx.groupMembership.count({ where: { groupName: name } })) > 0) return false
  await tx.group.deleteMany({ where: { name } })
  return true
}
