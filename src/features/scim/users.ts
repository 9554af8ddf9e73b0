import type { FastifyInstance } from 'fastify'
import { hasAdminRole } from '../../auth/access/administrators.ts'
import { accountsOf } from '../../auth/accounts.ts'
import { newAttributes } from '../../identity/attributes.ts'
import { isHeldForUndo } from '../../identity/email-change.ts'
import { type EventContext, recordEvent } from '../../identity/events.ts'
import { canonicalEmail, type User } from '../../identity/user.ts'
import { clearPassword, type UserChanges } from '../../identity/users.ts'
import type { Tx } from '../../platform/database/database.ts'
import { type Admin, lockForAdmin } from '../admin/admin.ts'
import { addUser, changeUser, removeUser } from '../admin/users.ts'
import { ScimHttpError, unlessTaken } from './errors.ts'
import type { ListFilter } from './filter.ts'
import {
  countUsers,
  disableNew,
  pageOfUsers,
  type Reader,
  saveScimUser,
  scimGroups,
  scimUsers,
  userIdsBy,
  userRows,
} from './store.ts'
import { type Resource, userResource, type WantedUser, wantedUser } from './user-resource.ts'

/** What the functions of this folder need. */
export interface Scim {
  app: Pick<FastifyInstance, 'database' | 'config'>
  admin: Admin
  origin: EventContext
  /** Address of `/scim/v2`. */
  base: string
}

/** A page of a list; `startIndex` begins with 1. */
export interface Page {
  startIndex: number
  count: number
  filter: ListFilter | null
}

export interface Found {
  total: number
  resources: Resource[]
}

/** Users that are read at once. */
const batch = 500

/** Resources of users by id, in order. */
async function resourcesOf(
  { app: { database: own, config }, base }: Scim,
  ids: readonly number[],
  database: Reader = own,
): Promise<Resource[]> {
  const rows = await userRows(database, ids)
  const known = await scimUsers(database, ids)
  const names = [...new Set(rows.flatMap(({ groups }): string[] => JSON.parse(groups)))]
  const groups = await scimGroups(database, names)
  return rows.map((row) =>
    userResource(row, { scim: known.get(Number(row.id)), groups, config: config.current(), base }),
  )
}

/** Returns a user. Throws 404 for an unknown one. */
export async function findResource(scim: Scim, id: string, reader?: Reader): Promise<Resource> {
  const [found] = /^[1-9]\d{0,14}$/.test(id) ? await resourcesOf(scim, [Number(id)], reader) : []
  if (!found) throw new ScimHttpError(404, `No user has the id ${id}.`)
  return found
}

/** Lists users by id. A filter that no index serves reads all users. */
export async function listUsers(scim: Scim, { startIndex, count, filter }: Page): Promise<Found> {
  const { database } = scim.app
  if (!filter) {
    const ids = count === 0 ? [] : await pageOfUsers(database, startIndex - 1, count)
    return { total: await countUsers(database), resources: await resourcesOf(scim, ids) }
  }
  if (filter.key) {
    const all = await resourcesOf(scim, await userIdsBy(database, filter.key))
    const matching = all.filter((resource) => filter.matches(resource))
    return { total: matching.length, resources: matching.slice(startIndex - 1, startIndex - 1 + count) }
  }
  const found: Found = { total: 0, resources: [] }
  for (let skip = 0; ; skip += batch) {
    const ids = await pageOfUsers(database, skip, batch)
    for (const resource of await resourcesOf(scim, ids)) {
      if (!filter.matches(resource)) continue
      found.total++
      if (found.total >= startIndex && found.resources.length < count) found.resources.push(resource)
    }
    if (ids.length < batch) return found
  }
}

const taken = (): ScimHttpError =>
  new ScimHttpError(409, 'Another user has this userName or this email address.', 'uniqueness')

/** Throws 409 if the name of a user is the address of another one, because both would be found by it. */
async function requireFreeName(tx: Tx, wanted: WantedUser, userId: number | null): Promise<void> {
  const ids = await userIdsBy({ prisma: tx }, { attribute: 'username', value: wanted.userName })
  if (ids.some((id) => id !== userId)) throw taken()
}

/** Creates a user without a password. The address counts as verified. */
export async function createScimUser(scim: Scim, wanted: WantedUser): Promise<Resource> {
  const { app, admin, origin } = scim
  const { givenName: given_name, familyName: family_name, active = true } = wanted
  const facts = {
    ...{ email: wanted.email, name: wanted.name, password: null, verified: true },
    attributes: newAttributes({ given_name, family_name }),
    role: app.config.current().registration.role,
  }
  const id = await unlessTaken(taken(), () =>
    app.database.transaction(async (tx) => {
      await lockForAdmin(admin, tx, [])
      await requireFreeName(tx, wanted, null)
      const created = await addUser(app, tx, origin, facts)
      if (!active) {
        await disableNew(tx, created.id, origin.now)
        await recordEvent(tx, origin, { type: 'user_disabled', userId: created.id })
      }
      await saveScimUser(tx, { userId: BigInt(created.id), userName: wanted.userName, externalId: wanted.externalId })
      return created.id
    }),
  )
  return findResource(scim, String(id))
}

/** What a request makes of a user. `check` tests the current resource. svc calls both while the user is locked. */
export interface Replacement {
  check(current: Resource): void
  wanted(current: Resource): WantedUser
}

/** Makes a user as wanted. Throws 404 for an unknown one. */
export async function replaceScimUser(
  scim: Scim,
  id: number,
  { check, wanted: wantedOf }: Replacement,
): Promise<Resource> {
  const { app, admin, origin } = scim
  const decide = async (tx: Tx, user: User): Promise<UserChanges | null> => {
    const current = await findResource(scim, String(id), { prisma: tx })
    check(current)
    const wanted = wantedOf(current)
    const known = wantedUser(current)
    const changes = changesOf(known, wanted)
    const isKnown = (await scimUsers({ prisma: tx }, [id])).has(id)
    const isRenamed = wanted.userName !== known.userName || wanted.externalId !== known.externalId
    if (changes.email !== undefined && hasAdminRole(user, app.config.current()))
      // Mails to an administrator can reset the password.
      throw new ScimHttpError(403, 'SCIM does not change the address of an administrator.', 'mutability')
    if (wanted.userName !== known.userName) await requireFreeName(tx, wanted, id)
    const { email } = changes
    if (email !== undefined && (await isHeldForUndo(tx, email, id, origin.now))) throw taken()
    const isClaimed = !isKnown && user.email_verified_at === null
    if (isClaimed) await claim(scim, tx, id)
    if (isRenamed || !isKnown)
      await saveScimUser(tx, { userId: BigInt(id), userName: wanted.userName, externalId: wanted.externalId })
    if (isClaimed) return { ...changes, verified: true }
    return Object.keys(changes).length > 0 ? changes : null
  }
  await unlessTaken(taken(), () => changeUser(admin, origin, id, decide))
  return findResource(scim, String(id))
}

/**
 * Gives an account to the owner of its address: anyone could have registered it, and its address was never verified. Everything
 * that the former user could sign in with ends.
 */
async function claim({ admin, origin }: Scim, tx: Tx, id: number): Promise<void> {
  await accountsOf(admin).claimAccount(tx, id)
  await clearPassword(tx, id, origin.now)
  await recordEvent(tx, origin, { type: 'account_claimed', userId: id })
}

/** The changes that a client asks for, without what stays. */
function changesOf(known: WantedUser, wanted: WantedUser): UserChanges {
  const email = canonicalEmail(wanted.email)
  const { name, givenName, familyName, active } = wanted
  const hasOtherParts = givenName !== known.givenName || familyName !== known.familyName
  return {
    ...(name === known.name ? {} : { name }),
    ...(email === known.email ? {} : { email }),
    ...(hasOtherParts ? { parts: { given_name: givenName, family_name: familyName } } : {}),
    ...(active === undefined || active === known.active ? {} : { disabled: !active }),
  }
}

/** Deletes a user with all data. */
export async function deleteScimUser(scim: Scim, id: number, check: (current: Resource) => void): Promise<void> {
  check(await findResource(scim, String(id)))
  // Throws 404 if another request has deleted it meanwhile.
  await removeUser(scim.admin, scim.origin, id)
}
