import { rolesOf } from '../platform/config/checks/groups.ts'
import type { Config } from '../platform/config/schema.ts'
import type { Database, Tx } from '../platform/database/database.ts'
import { validationFailed } from '../platform/errors.ts'
import { type EventContext, recordEvent } from './events.ts'
import type { User } from './user.ts'

/** Why a user is in a group. */
export type MembershipSource = 'admin' | 'import' | 'invitation' | 'scim' | `provider:${string}`

/** Maximum number of groups of one user. Tokens and headers contain all of them. */
export const maxGroups = 100

type Reader = { prisma: Database['prisma'] | Tx }
type GroupConfig = Pick<Config, 'groups'>

/** Tests whether the configuration declares a group. */
export const isDeclared = ({ groups }: GroupConfig, name: string): boolean => Object.hasOwn(groups.names, name)

/** Sorts by code units, as both engines and all replicas would. */
export const sortedNames = (names: Iterable<string>): string[] =>
  [...new Set(names)].sort((one, other) => (one < other ? -1 : 1))

/** The groups that applications and guarded services see: with the role, if `groups.include_role` is on. */
export const groupsOf = (
  { groups, role }: Pick<User, 'groups' | 'role'>,
  { groups: { include_role } }: Pick<Config, 'groups'>,
): readonly string[] => (include_role ? sortedNames([...groups, role]) : groups)

/** Returns the names that are groups: of the configuration, or of the database. */
export async function existingGroups(
  { prisma }: Reader,
  config: GroupConfig,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const others = names.filter((name) => !isDeclared(config, name))
  const rows = others.length === 0 ? [] : await prisma.group.findMany({ where: { name: { in: others } } })
  return new Set([...names.filter((name) => isDeclared(config, name)), ...rows.map(({ name }) => name)])
}

/** The names of all groups. */
export const allGroups = async ({ prisma }: Reader, { groups }: GroupConfig): Promise<ReadonlySet<string>> =>
  new Set([...Object.keys(groups.names), ...(await prisma.group.findMany()).map(({ name }) => name)])

/** Throws 422 for too many groups, or for one that does not exist. */
export async function requireGroups(
  reader: Reader,
  config: GroupConfig,
  names: readonly string[],
  field = 'groups',
): Promise<void> {
  if (names.length > maxGroups) throw tooMany(field)
  const known = await existingGroups(reader, config, names)
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined) throw validationFailed({ [field]: [`The group ${unknown} does not exist.`] })
}

const tooMany = (field: string) => validationFailed({ [field]: [`A user can be in at most ${maxGroups} groups.`] })

/** Why a role is refused that is the name of a group. */
export const roleIsGroup =
  'The role has the name of a group, and groups.include_role lists roles as groups. Use another name.'

/** Throws 422 if users with this role would seem to be in a group of that name. */
export async function requireRoleIsNoGroup(tx: Tx, config: GroupConfig, role: string): Promise<void> {
  if (!config.groups.include_role || !(await existingGroups({ prisma: tx }, config, [role])).has(role)) return
  throw validationFailed({ role: [roleIsGroup] })
}

/** Tests whether a group may not have this name, because it is a role and `groups.include_role` is on. */
export async function isReservedForRole({ prisma }: Reader, config: Config, name: string): Promise<boolean> {
  if (!config.groups.include_role) return false
  return rolesOf(config).has(name) || (await prisma.user.findFirst({ where: { role: name } })) !== null
}

interface MembershipChange {
  add?: readonly string[]
  /** Ends the memberships of these groups: those of the source, or all of them. */
  remove?: { names: readonly string[]; source?: MembershipSource }
  /** Source of the new memberships. */
  source: MembershipSource
}

/**
 * Changes the groups of a locked user, and records an event for each group that the user joins or leaves. The groups must
 * exist: one that was deleted meanwhile is left out. Returns the groups of the user; throws 422 for too many.
 */
export async function changeGroups(
  tx: Tx,
  { engine }: Pick<Database, 'engine'>,
  origin: EventContext,
  config: GroupConfig,
  userId: number,
  { add = [], remove, source }: MembershipChange,
): Promise<readonly string[]> {
  const id = BigInt(userId)
  const createdAt = new Date(origin.now)
  const before = await tx.groupMembership.findMany({ where: { userId: id } })
  if (remove) {
    const only = remove.source === undefined ? {} : { source: remove.source }
    await tx.groupMembership.deleteMany({ where: { userId: id, groupName: { in: [...remove.names] }, ...only } })
  }
  const held = new Set(before.filter((row) => row.source === source).map(({ groupName }) => groupName))
  const fresh = sortedNames(add).filter((name) => !held.has(name))
  const kept = await holdGroups(tx, engine, config, fresh, createdAt)
  await tx.groupMembership.createMany({ data: kept.map((groupName) => ({ userId: id, groupName, source, createdAt })) })
  return refreshGroups(tx, origin, userId, before)
}

/**
 * Locks groups against deletion until the transaction ends, and returns those that exist. Creates the rows of groups of the
 * configuration, which need none until they have a member.
 */
async function holdGroups(
  tx: Tx,
  engine: Database['engine'],
  config: GroupConfig,
  names: readonly string[],
  createdAt: Date,
): Promise<string[]> {
  for (const name of names.filter((one) => isDeclared(config, one))) {
    await tx.$executeRaw`
      INSERT INTO user_groups (name, created_at) VALUES (${name}, ${createdAt}) ON CONFLICT (name) DO NOTHING`
  }
  const held: string[] = []
  for (const name of names) {
    const rows =
      engine === 'sqlite'
        ? await tx.$queryRaw<unknown[]>`SELECT name FROM user_groups WHERE name = ${name}`
        : await tx.$queryRaw<unknown[]>`SELECT name FROM user_groups WHERE name = ${name} FOR KEY SHARE`
    if (rows.length > 0) held.push(name)
  }
  return held
}

/**
 * Writes the groups of a locked user to the user's row, after a change of the memberships in `before`. Records no events
 * without an origin.
 */
async function refreshGroups(
  tx: Tx,
  origin: EventContext | null,
  userId: number,
  before: readonly { groupName: string; source: string }[],
): Promise<readonly string[]> {
  const id = BigInt(userId)
  const after = await tx.groupMembership.findMany({ where: { userId: id } })
  const [old, groups] = [before, after].map((rows) => sortedNames(rows.map(({ groupName }) => groupName)))
  if (!old || !groups) return []
  if (groups.length > maxGroups && groups.length > old.length) throw tooMany('groups')
  const joined = groups.filter((name) => !old.includes(name))
  const left = old.filter((name) => !groups.includes(name))
  if (joined.length + left.length === 0) return groups
  const dated = origin ? { updatedAt: new Date(origin.now) } : {}
  await tx.user.update({ where: { id }, data: { groups: JSON.stringify(groups), ...dated } })
  if (!origin) return groups
  for (const [type, names, rows] of [
    ['group_member_added', joined, after],
    ['group_member_removed', left, before],
  ] as const) {
    for (const group of names) {
      const sources = rows.filter(({ groupName }) => groupName === group).map(({ source }) => source)
      await recordEvent(tx, origin, { type, userId, data: { group, source: sourceText(sources) } })
    }
  }
  return groups
}

const sourceText = (sources: readonly string[]): string => sortedNames(sources).join(' ')

/**
 * Gives a locked user the groups that a provider lists, and ends the memberships that the same provider gave before and no
 * longer lists.
 */
export async function syncProviderGroups(
  tx: Tx,
  database: Pick<Database, 'engine'>,
  origin: EventContext,
  config: GroupConfig,
  { userId, provider, names }: { userId: number; provider: string; names: readonly string[] },
): Promise<void> {
  const source = `provider:${provider}` as const
  const rows = await tx.groupMembership.findMany({ where: { userId: BigInt(userId) } })
  const own = rows.filter((row) => row.source === source).map(({ groupName }) => groupName)
  const gone = own.filter((name) => !names.includes(name))
  // Groups of other sources count first: a provider cannot make a sign-in fail.
  const others = new Set(rows.filter((row) => row.source !== source).map(({ groupName }) => groupName))
  const add = sortedNames(names).filter((name, index) => others.has(name) || index < maxGroups - others.size)
  if (gone.length === 0 && add.every((name) => own.includes(name))) return
  await changeGroups(tx, database, origin, config, userId, { add, remove: { names: gone, source }, source })
}

/** Takes a locked user out of a group. Returns the sources of the memberships that ended. */
export async function leaveGroup(
  tx: Tx,
  origin: EventContext,
  userId: number,
  name: string,
): Promise<readonly string[]> {
  const before = await tx.groupMembership.findMany({ where: { userId: BigInt(userId) } })
  await tx.groupMembership.deleteMany({ where: { userId: BigInt(userId), groupName: name } })
  await refreshGroups(tx, origin, userId, before)
  return before.filter(({ groupName }) => groupName === name).map(({ source }) => source)
}

/** Ends the memberships that a provider gave a locked user, whose last account there is no longer linked. */
export async function dropProviderGroups(
  tx: Tx,
  origin: EventContext | null,
  userId: number,
  provider: string,
): Promise<void> {
  const before = await tx.groupMembership.findMany({ where: { userId: BigInt(userId) } })
  const own = { userId: BigInt(userId), source: `provider:${provider}` }
  const { count } = await tx.groupMembership.deleteMany({ where: own })
  if (count > 0) await refreshGroups(tx, origin, userId, before)
}

/** A group, why a user is in it, and since when. */
export interface Membership {
  group: string
  source: string
  created_at: string
}

/** The memberships of a user, sorted by group. */
export async function listMemberships({ prisma }: Reader, userId: number): Promise<Membership[]> {
  const rows = await prisma.groupMembership.findMany({
    where: { userId: BigInt(userId) },
    orderBy: [{ groupName: 'asc' }, { id: 'asc' }],
  })
  return rows.map(({ groupName, source, createdAt }) => ({
    group: groupName,
    source,
    created_at: createdAt.toISOString(),
  }))
}
