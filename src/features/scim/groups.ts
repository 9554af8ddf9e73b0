import { changeGroups, isDeclared } from '../../identity/groups.ts'
import { isGroupName } from '../../platform/config/sections/groups.ts'
import type { Tx } from '../../platform/database/database.ts'
import { isUniqueViolation } from '../../platform/database/unique.ts'
import { lockForAdmin } from '../admin/admin.ts'
import { createGroup, deleteGroup, listGroups } from '../admin/groups/groups.ts'
import { invalidValue, ScimError } from './errors.ts'
import { ensureGroup, groupDates, saveScimGroup, scimGroups, scimMembers, scimSource, userRows } from './store.ts'
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
  if (!found) throw new ScimError(404, `No group has the id ${id}.`)
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
  const matching = (await resourcesOf(scim, names, true)).filter((resource) => filter.matches(resource))
  const page = matching.slice(startIndex - 1, end)
  return {
    total: matching.length,
    resources: withMembers ? page : page.map(({ members: _, ...rest }) => rest as Resource),
  }
}

/** Reads the body of a group. Throws 400 for values that svc cannot store. */
export function wantedGroup(body: unknown): WantedGroup {
  const displayName = textIn(body, 'displayName')
  if (displayName === null) throw invalidValue('displayName is required.')
  const given = attribute(body, 'members')
  const members = given === undefined ? undefined : given === null ? [] : [given].flat().map(memberIn)
  if (members && members.length > maxMembers) throw invalidValue(`members must have at most ${maxMembers} entries.`)
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

const taken = (): ScimError => new ScimError(409, 'Another group has this displayName.', 'uniqueness')

async function unlessTaken<Result>(change: () => Promise<Result>): Promise<Result> {
  try {
    return await change()
  } catch (error) {
    throw isUniqueViolation(error) ? taken() : error
  }
}

/** Creates a group with its members. The id is the name of the group in svc, which never changes. */
export async function createScimGroup(scim: Scim, wanted: WantedGroup): Promise<Resource> {
  const { admin, origin } = scim
  const { displayName } = wanted
  const names = await allNames(scim)
  const known = await scimGroups(scim.app.database, names)
  const isTaken = names.some(
    (name) => (known.get(name)?.displayName ?? name).toLowerCase() === displayName.toLowerCase(),
  )
  if (isTaken) throw taken()
  const used = new Set(names.map((name) => name.toLowerCase()))
  const stem = nameFor(displayName)
  let name = stem
  for (let at = 2; used.has(name.toLowerCase()); at++) name = `${stem}-${at}`
  await requireUsers(scim, wanted.members ?? [])
  await createGroup(admin, origin, { name, description: null })
  await unlessTaken(() => saveGroup(scim, name, wanted)).catch(async (error) => {
    await deleteGroup(admin, origin, name)
    throw error
  })
  await setMembers(scim, name, wanted.members ?? [])
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

/** Makes a group as wanted. `check` tests the current resource. */
export async function replaceScimGroup(
  scim: Scim,
  name: string,
  wanted: WantedGroup,
  check: (current: Resource) => void,
): Promise<Resource> {
  check(await findGroupResource(scim, name))
  await requireUsers(scim, wanted.members ?? [])
  await unlessTaken(() => saveGroup(scim, name, wanted))
  if (wanted.members) await setMembers(scim, name, wanted.members)
  return findGroupResource(scim, name)
}

/** Deletes a group. */
export async function deleteScimGroup(scim: Scim, name: string, check: (current: Resource) => void): Promise<void> {
  check(await findGroupResource(scim, name))
  await deleteGroup(scim.admin, scim.origin, name)
}

/** Throws 400 if one of the users does not exist. */
async function requireUsers({ app: { database } }: Scim, ids: readonly number[]): Promise<void> {
  for (let at = 0; at < ids.length; at += batch) {
    const part = ids.slice(at, at + batch)
    const found = new Set((await userRows(database, part)).map(({ id }) => Number(id)))
    const missing = part.find((id) => !found.has(id))
    if (missing !== undefined) throw invalidValue(`No user has the id ${missing}.`)
  }
}

/** Gives and ends the memberships that SCIM manages. Those of others stay. */
async function setMembers(scim: Scim, name: string, wanted: readonly number[]): Promise<void> {
  const current = new Set(await scimMembers(scim.app.database, name))
  const target = new Set(wanted)
  await changeMembers(
    scim,
    wanted.filter((id) => !current.has(id)),
    { add: [name] },
  )
  await changeMembers(
    scim,
    [...current].filter((id) => !target.has(id)),
    { remove: { names: [name], source: scimSource } },
  )
}

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
