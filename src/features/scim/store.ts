import { canonicalEmail } from '../../identity/user.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import type { ScimGroup, ScimUser } from '../../platform/generated/postgresql/client.ts'

/** The database, or a transaction. */
export type Reader = { prisma: Database['prisma'] | Tx }

/** What clients said about these users, by id. */
export async function scimUsers({ prisma }: Reader, ids: readonly number[]): Promise<ReadonlyMap<number, ScimUser>> {
  const rows = await prisma.scimUser.findMany({ where: { userId: { in: ids.map(BigInt) } } })
  return new Map(rows.map((row) => [Number(row.userId), row]))
}

/** What clients said about these groups, by name. */
export async function scimGroups(
  { prisma }: Reader,
  names: readonly string[],
): Promise<ReadonlyMap<string, ScimGroup>> {
  const rows = await prisma.scimGroup.findMany({ where: { groupName: { in: [...names] } } })
  return new Map(rows.map((row) => [row.groupName, row]))
}

/** Values that find users by an index. */
export interface UserKey {
  attribute: 'id' | 'username' | 'externalid' | 'emails' | 'emails.value'
  value: string
}

/** Ids of the users that may have the value. */
export async function userIdsBy({ prisma }: Reader, { attribute, value }: UserKey): Promise<number[]> {
  if (attribute === 'id') return /^[1-9]\d{0,14}$/.test(value) ? [Number(value)] : []
  if (attribute === 'externalid') {
    const rows = await prisma.scimUser.findMany({ where: { externalId: value }, select: { userId: true } })
    return rows.map(({ userId }) => Number(userId))
  }
  const key = value.toLowerCase()
  const address = canonicalEmail(value)
  const named = await prisma.scimUser.findMany({ where: { nameKey: key }, select: { userId: true } })
  const addressed = await prisma.user.findMany({ where: { email: address }, select: { id: true } })
  return [...new Set([...named.map(({ userId }) => Number(userId)), ...addressed.map(({ id }) => Number(id))])]
}

/** Disables a user who was created in this transaction. */
export const disableNew = (tx: Tx, id: number, now: number): Promise<unknown> =>
  tx.user.update({ where: { id: BigInt(id) }, data: { disabledAt: new Date(now) } })

/** Number of users. */
export const countUsers = ({ prisma }: Reader): Promise<number> => prisma.user.count()

/** Ids of users in order. */
export async function pageOfUsers({ prisma }: Reader, skip: number, take: number): Promise<number[]> {
  const rows = await prisma.user.findMany({ orderBy: { id: 'asc' }, select: { id: true }, skip, take })
  return rows.map(({ id }) => Number(id))
}

/** Rows of users by id, in order. */
export const userRows = ({ prisma }: Reader, ids: readonly number[]) =>
  prisma.user.findMany({ where: { id: { in: ids.map(BigInt) } }, orderBy: { id: 'asc' } })

/** Writes what a client said about a user. Throws a unique violation if another user has the userName. */
export async function saveScimUser(tx: Tx, { userId, userName, externalId }: Omit<ScimUser, 'nameKey'>): Promise<void> {
  const facts = { userName, nameKey: userName.toLowerCase(), externalId }
  await tx.scimUser.upsert({ where: { userId }, create: { userId, ...facts }, update: facts })
}

/** Writes what a client said about a group. Throws a unique violation if another group has the displayName. */
export async function saveScimGroup(
  tx: Tx,
  { groupName, displayName, externalId }: Omit<ScimGroup, 'nameKey'>,
): Promise<void> {
  const facts = { displayName, nameKey: displayName.toLowerCase(), externalId }
  await tx.scimGroup.upsert({ where: { groupName }, create: { groupName, ...facts }, update: facts })
}

/** Tests whether only SCIM gave memberships of a group, and named it. */
export async function isOfScim({ prisma }: Reader, groupName: string): Promise<boolean> {
  const others = await prisma.groupMembership.count({ where: { groupName, source: { not: scimSource } } })
  return others === 0 && (await prisma.scimGroup.findUnique({ where: { groupName } })) !== null
}

/** Source of the memberships that SCIM clients manage. */
export const scimSource = 'scim'

/** Ids of the users whom SCIM put into a group, in order. */
export async function scimMembers({ prisma }: Reader, groupName: string): Promise<number[]> {
  const where = { groupName, source: scimSource }
  const rows = await prisma.groupMembership.findMany({ where, select: { userId: true }, orderBy: { userId: 'asc' } })
  return rows.map(({ userId }) => Number(userId))
}

/** When the rows of groups were created. Groups of the configuration may have none. */
export async function groupDates({ prisma }: Reader, names: readonly string[]): Promise<ReadonlyMap<string, Date>> {
  const rows = await prisma.group.findMany({
    where: { name: { in: [...names] } },
    select: { name: true, createdAt: true },
  })
  return new Map(rows.map(({ name, createdAt }) => [name, createdAt]))
}

/** Makes sure that a group of the configuration has a row. */
export const ensureGroup = (tx: Tx, name: string, now: number): Promise<unknown> =>
  tx.group.upsert({ where: { name }, create: { name, createdAt: new Date(now) }, update: {} })
