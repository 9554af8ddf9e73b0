import { changeGroups, isDeclared } from '../../identity/groups.ts'
import { isGroupName } from '../../platform/config/sections/groups.ts'
import type { Tx } from '../../platform/database/database.ts'
import { lockForAdmin } from '../admin/admin.ts'
import { createGroup, deleteGroup, listGroups } from '../admin/groups/groups.ts'
import { invalidValue, ScimHttpError, unlessTaken } from './errors.ts'
import {
  ensureGroup,
  groupDates,
  isOfScim,
  saveScimGroup,
  scimGroups,
  scimMembers,
  scimSource,
  scimUsers,
  userRows,
} from './store.ts'
import { attribute, type Resource, textIn, withMeta } from './user-resource.ts'
import type { Found, Page, Scim } from './users.ts'

export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group'

/** What a client wants a group to be. */
export interface WantedGroup {
  displayName: string
  externalId: string | null
  /** Ids of users; undefined if the client did not give members. */
  members: number[] | undefined
}

/** Groups that are read at once, and members that one transaction changes. */
const [pageSize, batch] = [200, 100]

/** Maximum number of members in a request. */
const maxMembers = 10_000

async function resourcesOf(
  { app: { database }, base }: Scim,
  names: readonly string[],
  withMembers: boolean,
): Promise<Resource[]> {
  const [known, dates] = [await scimGroups(database, names), await groupDates(database, names)]
  const found: Resource[] = []
  for (const name of names) {
    const scim = known.get(name)
    const members = withMembers ? await scimMembers(database, name) : []
    const facts = {
      schemas: [groupSchema],
      id: name,
      ...(scim?.externalId ? { externalId: scim.externalId } : {}),
      displayName: scim?.displayName ?? name,
      ...(withMembers
        ? { members: members.map((id) => ({ value: String(id), $ref: `${base}/Users/${id}`, type: 'User' })) }
        : {}),
    }
    found.push(withMeta(facts, { type: 'Group', created: dates.get(name), base }))
  }
  return found
}

/** Names of all groups: of the configuration and of the database. */
async function allNames({ app }: Scim): Promise<string[]> {
  const names: string[] = []
  for (let after = ''; ; ) {
    const page = await listGroups(app, { after, take: pageSize })
    names.push(...page.map(({ name }) => name))
    after = page.at(-1)?.name ?? after
    if (page.length < pageSize) return names
  }
}

/** Returns a group with the members that SCIM manages. Throws 404 for an unknown one. */
export async function findGroupResource(scim: Scim, id: string, withMembers = true): Promise<Resource> {
  const exists =
    isGroupName(id) &&
    (isDeclared(scim.app.config.current(), id) || (await groupDates(scim.app.database, [id])).has(id))
  const [found] = exists ? await resourcesOf(scim, [id], withMembers) : []
  if (!found) throw new ScimHttpError(404, `No group has the id ${id}.`)
  return found
}

/** Lists groups by id. */
export async function listScimGroups(
  scim: Scim,
  { startIndex, count, filter, withMembers }: Page & { withMembers: boolean },
): Promise<Found> {
  const names = await allNames(scim)
  const end = startIndex - 1 + count
  if (!filter)
    return { total: names.length, resources: await resourcesOf(scim, names.slice(startIndex - 1, end), withMembers) }
  const matching = (await resourcesOf(scim, names, withMembers || filter.readsMembers)).filter((resource) =>
    filter.matches(resource),
  )
  const page = matching.slice(startIndex - 1, end)
  return {
    total: matching.length,
    resources: withMembers ? page : page.map(({ members: _, ...rest }) => rest as Resource),
  }
}

/** Reads the body of a group. Throws 400 for values that svc cannot store. */
export function wantedGroup(body: unknown, most = maxMembers): WantedGroup {
  const displayName = textIn(body, 'displayName')
  if (displayName === null) throw invalidValue('displayName is required.')
  const given = attribute(body, 'members')
  const members = given === undefined ? undefined : given === null ? [] : [given].flat().map(memberIn)
  if (members && members.length > most) throw invalidValue(`members must have at most ${most} entries.`)
  return { displayName, externalId: textIn(body, 'externalId'), members: members && [...new Set(members)] }
}

function memberIn(given: unknown): number {
  const value = attribute(given, 'value')
  const type = attribute(given, 'type') ?? 'User'
  if (type !== 'User') throw invalidValue('members must be users. svc has no groups within groups.')
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  if (!/^[1-9]\d{0,14}$/.test(text)) throw invalidValue('members.value must be the id of a user.')
  return Number(text)
}

/** The name of a new group: its displayName in the characters that names of groups can have. */
function nameFor(displayName: string): string {
  const plain = displayName.normalize('NFKD').replace(/\p{M}/gu, '')
  const name = plain
    .replace(/[^A-Za-z0-9_.:@+-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|-+$/g, '')
    .slice(0, 80)
  return isGroupName(name) ? name : 'group'
}

const taken = (): ScimHttpError => new ScimHttpError(409, 'Another group has this displayName.', 'uniqueness')

/** Throws 409 if another group has the name at the client, or in svc. */
async function requireFreeName(
  scim: Scim,
  names: readonly string[],
  displayName: string,
  own: string | null,
): Promise<void> {
  const known = await scimGroups(scim.app.database, names)
  const isSame = (name: string) => (known.get(name)?.displayName ?? name).toLowerCase() === displayName.toLowerCase()
  if (names.some((name) => name !== own && isSame(name))) throw taken()
}

/** Creates a group with its members. The id is the name of the group in svc, which never changes. */
export async function createScimGroup(scim: Scim, wanted: WantedGroup): Promise<Resource> {
  const { admin, origin } = scim
  const { displayName, members = [] } = wanted
  const names = await allNames(scim)
  await requireFreeName(scim, names, displayName, null)
  const used = new Set(names.map((name) => name.toLowerCase()))
  const stem = nameFor(displayName)
  let name = stem
  for (let at = 2; used.has(name.toLowerCase()); at++) name = `${stem}-${at}`
  await requireUsers(scim, members)
  // Another request may create it meanwhile.
  await unlessTaken(taken(), () => createGroup(admin, origin, { name, description: null }))
  try {
    await unlessTaken(taken(), () => saveGroup(scim, name, wanted))
    await changeMembers(scim, members, { add: [name] })
  } catch (error) {
    await deleteGroup(admin, origin, name)
    throw error
  }
  return findGroupResource(scim, name)
}

const saveGroup = (
  { app, admin, origin }: Scim,
  name: string,
  { displayName, externalId }: WantedGroup,
): Promise<void> =>
  app.database.transaction(async (tx) => {
    await lockForAdmin(admin, tx, [])
    await ensureGroup(tx, name, origin.now)
    await saveScimGroup(tx, { groupName: name, displayName, externalId })
  })

/** What a request makes of a group. `check` tests the current resource. */
interface Replacement {
  check(current: Resource): void
  wanted(current: Resource): WantedGroup & { members: number[] }
}

/** Makes a group as wanted: gives and ends only the memberships that differ from the current resource. */
export async function replaceScimGroup(
  scim: Scim,
  name: string,
  { check, wanted: wantedOf }: Replacement,
): Promise<Resource> {
  const current = await findGroupResource(scim, name)
  check(current)
  const wanted = wantedOf(current)
  const before = new Set(wantedGroup(current, Number.POSITIVE_INFINITY).members)
  const added = wanted.members.filter((id) => !before.has(id))
  await requireUsers(scim, added)
  if (wanted.displayName !== current.displayName)
    await requireFreeName(scim, await allNames(scim), wanted.displayName, name)
  if (wanted.displayName !== current.displayName || wanted.externalId !== (current.externalId ?? null))
    await unlessTaken(taken(), () => saveGroup(scim, name, wanted))
  const kept = new Set(wanted.members)
  await changeMembers(scim, added, { add: [name] })
  await changeMembers(
    scim,
    [...before].filter((id) => !kept.has(id)),
    { remove: { names: [name], source: scimSource } },
  )
  return findGroupResource(scim, name)
}

/** Deletes a group that SCIM created. Throws 403 for another one, and for one with members of others. */
export async function deleteScimGroup(scim: Scim, name: string, check: (current: Resource) => void): Promise<void> {
  check(await findGroupResource(scim, name))
  if (!(await isOfScim(scim.app.database, name)))
    throw new ScimHttpError(
      403,
      'SCIM deletes only groups that it named, and whose members are all from SCIM.',
      'mutability',
    )
  await deleteGroup(scim.admin, scim.origin, name)
}

/** Throws 400 if one of the users does not exist, or may not be the person whom the client means. */
async function requireUsers({ app: { database } }: Scim, ids: readonly number[]): Promise<void> {
  for (let at = 0; at < ids.length; at += batch) {
    const part = ids.slice(at, at + batch)
    const found = new Map((await userRows(database, part)).map((row) => [Number(row.id), row]))
    const missing = part.find((id) => !found.has(id))
    if (missing !== undefined) throw invalidValue(`No user has the id ${missing}.`)
    const known = await scimUsers(database, part)
    // Anyone can register with the address of another person.
    const doubtful = part.find((id) => !found.get(id)?.emailVerifiedAt && !known.has(id))
    if (doubtful !== undefined) throw invalidValue(`The user ${doubtful} has not verified the email address.`)
  }
}

/** Changes the memberships that SCIM manages. Those of others stay. */
async function changeMembers(
  { app: { database, config }, admin, origin }: Scim,
  ids: readonly number[],
  change: Pick<Parameters<typeof changeGroups>[5], 'add' | 'remove'>,
): Promise<void> {
  for (let at = 0; at < ids.length; at += batch) {
    const part = ids.slice(at, at + batch)
    await database.transaction(async (tx: Tx) => {
      await lockForAdmin(admin, tx, part)
      const existing = (await userRows({ prisma: tx }, part)).map(({ id }) => Number(id))
      for (const id of existing)
        await changeGroups(tx, database, origin, config.current(), id, { ...change, source: scimSource })
    })
  }
}
