import { type EventContext, recordEvent } from '../../../identity/events.ts'
import {
  changeGroups,
  existingGroups,
  isDeclared,
  isReservedForRole,
  leaveGroup,
  type MembershipSource,
  sortedNames,
} from '../../../identity/groups.ts'
import { findUserById } from '../../../identity/users.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { groupNames, isGroupName } from '../../../platform/config/sections/groups.ts'
import type { Database } from '../../../platform/database/database.ts'
import { type HttpError, notFound, validationFailed } from '../../../platform/errors.ts'
import { type Admin, lockForAdmin } from '../admin.ts'
import { deleteEmptyGroup, findGroup, groupRows, insertGroup, memberCounts, memberIds, memberRows } from './store.ts'

/** A group, as administrators see it. */
export interface GroupRecord {
  name: string
  description: string | null
  /** Where the group is declared. */
  declared_in: 'configuration' | 'database'
  /** Number of users. */
  members: number
}

/** A user of a group, and why the user is in it. */
export interface Member {
  id: number
  email: string
  name: string
  sources: string[]
}

interface Page {
  /** The last record of the previous page. */
  after: string
  take: number
}

const byName = (one: { name: string }, other: { name: string }): number => (one.name < other.name ? -1 : 1)

/** The groups of the configuration and of the database after the cursor, by name. */
export async function listGroups(
  { database, config }: Pick<Admin, 'database' | 'config'>,
  { after, take }: Page,
): Promise<GroupRecord[]> {
  const current = config.current()
  const declared = Object.keys(current.groups.names)
    .filter((name) => name > after)
    .map((name) => ({ name, description: null }))
  const rows = await groupRows(database, { after, take })
  const known = new Map([...declared, ...rows].map((row) => [row.name, row]))
  const page = [...known.values()].sort(byName).slice(0, take)
  return recordsOf(database, current, page)
}

async function recordsOf(
  database: Database,
  config: Config,
  rows: readonly { name: string; description: string | null }[],
): Promise<GroupRecord[]> {
  const counts = await memberCounts(
    database,
    rows.map(({ name }) => name),
  )
  return rows.map(({ name, description }) => ({
    name,
    description: config.groups.names[name] ?? description,
    declared_in: isDeclared(config, name) ? 'configuration' : 'database',
    members: counts.get(name) ?? 0,
  }))
}

/** Returns a group. Throws 404 for an unknown one. */
export async function showGroup(
  { database, config }: Pick<Admin, 'database' | 'config'>,
  name: string,
): Promise<GroupRecord> {
  const current = config.current()
  const row = await findGroup(database, name)
  if (!row && !isDeclared(current, name)) throw unknownGroup(name)
  const [record] = await recordsOf(database, current, [{ name, description: row?.description ?? null }])
  if (!record) throw unknownGroup(name)
  return record
}

const unknownGroup = (name: string): HttpError => notFound(`The group ${name} does not exist.`)

/** The members of a group after the user with this id, in the order of their ids. Throws 404 for an unknown group. */
export async function listMembers(
  admin: Pick<Admin, 'database' | 'config'>,
  name: string,
  { after, take }: { after: number; take: number },
): Promise<Member[]> {
  await showGroup(admin, name)
  const ids = await memberIds(admin.database, name, { after, take })
  const rows = await memberRows(admin.database, name, ids)
  return ids.map((id) => {
    const own = rows.filter(({ userId }) => userId === id)
    const { email = '', name: label = '' } = own[0]?.user ?? {}
    return { id: Number(id), email, name: label, sources: sortedNames(own.map(({ source }) => source)) }
  })
}

/** Creates a group in the database. Throws 422 if the name is invalid or taken. */
export async function createGroup(
  admin: Admin,
  origin: EventContext,
  { name, description }: { name: string; description: string | null },
): Promise<GroupRecord> {
  const config = admin.config.current()
  if (!isGroupName(name)) throw invalidName(`The name must have ${groupNames.expected}.`)
  if (isDeclared(config, name)) throw invalidName('The configuration declares this group already.')
  await admin.database.transaction(async (tx) => {
    await lockForAdmin(admin, tx, [])
    if (await isReservedForRole({ prisma: tx }, config, name)) {
      throw invalidName('The name is that of a role, and groups.include_role lists roles as groups.')
    }
    if (!(await insertGroup(tx, { name, description, now: origin.now }))) throw invalidName('The group exists already.')
    await recordEvent(tx, origin, {
      type: 'group_created',
      userId: null,
      target: `group:${name}`,
      data: { group: name },
    })
  })
  return { name, description, declared_in: 'database', members: 0 }
}

const invalidName = (message: string): HttpError => validationFailed({ name: [message] })

/** Members that one transaction takes out of a group. */
const batch = 200

/** Deletes a group with its memberships. Throws 404 for an unknown one, and 422 for one that the configuration declares. */
export async function deleteGroup(admin: Admin, origin: EventContext, name: string): Promise<void> {
  const { database, config } = admin
  if (isDeclared(config.current(), name)) {
    throw validationFailed({ name: ['The configuration declares this group. Remove it there first.'] })
  }
  await showGroup(admin, name)
  for (;;) {
    const ids = await memberIds(database, name, { after: 0, take: batch })
    await database.transaction(async (tx) => {
      await lockForAdmin(admin, tx, ids.map(Number))
      for (const id of ids) await leaveGroup(tx, origin, Number(id), name)
    })
    if (ids.length > 0) continue
    const isDeleted = await database.transaction(async (tx) => {
      await lockForAdmin(admin, tx, [])
      if (!(await deleteEmptyGroup(tx, database.engine, name))) return false
      await recordEvent(tx, origin, {
        type: 'group_deleted',
        userId: null,
        target: `group:${name}`,
        data: { group: name },
      })
      return true
    })
    // Otherwise a user joined it meanwhile.
    if (isDeleted) return
  }
}

/** Adds a user to a group. Throws 404 for an unknown user or group, and 422 for too many groups. */
export async function addMember(admin: Admin, origin: EventContext, name: string, userId: number): Promise<void> {
  const { database, config } = admin
  await database.transaction(async (tx) => {
    await lockForAdmin(admin, tx, [userId])
    if (!(await findUserById({ prisma: tx }, userId))) throw notFound('User not found.')
    const groups = await changeGroups(tx, database, origin, config.current(), userId, { add: [name], source: 'admin' })
    if (!groups.includes(name)) throw unknownGroup(name)
  })
}

/**
 * Takes a user out of a group, whatever gave the membership. Returns the providers that add the user again at the next
 * sign-in, as long as they list the group. Throws 404 for an unknown user, or one who is not a member.
 */
export async function removeMember(
  admin: Admin,
  origin: EventContext,
  name: string,
  userId: number,
): Promise<readonly string[]> {
  return admin.database.transaction(async (tx) => {
    await lockForAdmin(admin, tx, [userId])
    if (!(await findUserById({ prisma: tx }, userId))) throw notFound('User not found.')
    const sources = await leaveGroup(tx, origin, userId, name)
    if (sources.length === 0) throw notFound(`The user is not in the group ${name}.`)
    const prefix = 'provider:' satisfies MembershipSource
    return sources.flatMap((source) => (source.startsWith(prefix) ? [source.slice(prefix.length)] : []))
  })
}

/** Returns those of the names that are not groups. */
export async function unknownGroups(
  { database, config }: Pick<Admin, 'database' | 'config'>,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const known = await existingGroups(database, config.current(), names)
  return new Set(names.filter((name) => !known.has(name)))
}
