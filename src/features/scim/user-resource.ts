import { groupsOf } from '../../identity/groups.ts'
import { toUser } from '../../identity/user.ts'
import type { Config } from '../../platform/config/schema.ts'
import { isMapping } from '../../platform/config/walk.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import type { ScimGroup, ScimUser, User as UserRow } from '../../platform/generated/postgresql/client.ts'
import { isEmail, isName } from '../../platform/http/formats.ts'
import { invalidValue } from './errors.ts'

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'

/** A SCIM resource with its version. */
export interface Resource {
  schemas: string[]
  id: string
  externalId?: string
  meta: { resourceType: 'User' | 'Group'; created?: string; lastModified?: string; location: string; version?: string }
  [attribute: string]: unknown
}

/** Adds the metadata of a resource; the version is a hash of everything else. */
export function withMeta(
  facts: Omit<Resource, 'meta'>,
  {
    type,
    created,
    lastModified,
    base,
  }: { type: 'User' | 'Group'; created?: Date | undefined; lastModified?: Date; base: string },
): Resource {
  // The version of a part would not tell whether the rest changed.
  const isWhole = type === 'User' || 'members' in facts
  const version = `W/"${sha256Hex(JSON.stringify(facts)).slice(0, 32)}"`
  const location = `${base}/${type}s/${encodeURIComponent(String(facts.id))}`
  const dates = {
    ...(created ? { created: created.toISOString() } : {}),
    ...(lastModified ? { lastModified: lastModified.toISOString() } : {}),
  }
  // Sound: `facts` has the other members.
  return { ...facts, meta: { resourceType: type, ...dates, location, ...(isWhole ? { version } : {}) } } as Resource
}

interface Known {
  scim: ScimUser | undefined
  groups: ReadonlyMap<string, ScimGroup>
  config: Pick<Config, 'groups'>
  base: string
}

/** The resource of a user. */
export function userResource(row: UserRow, { scim, groups, config, base }: Known): Resource {
  const user = toUser(row)
  const { given_name, family_name } = user
  const facts = {
    schemas: [userSchema],
    id: String(user.id),
    ...(scim?.externalId ? { externalId: scim.externalId } : {}),
    userName: scim?.userName ?? user.email,
    name: {
      formatted: user.name,
      ...(given_name ? { givenName: given_name } : {}),
      ...(family_name ? { familyName: family_name } : {}),
    },
    displayName: user.name,
    active: !user.disabled,
    emails: [{ value: user.email, type: 'work', primary: true }],
    groups: groupsOf(user, config).map((name) => ({
      value: name,
      display: groups.get(name)?.displayName ?? name,
      $ref: `${base}/Groups/${encodeURIComponent(name)}`,
      type: 'direct',
    })),
  }
  return withMeta(facts, { type: 'User', created: row.createdAt, lastModified: row.updatedAt, base })
}

/** What a client wants a user to be. Undefined members are not given. */
export interface WantedUser {
  userName: string
  externalId: string | null
  email: string
  name: string
  givenName: string | null
  familyName: string | null
  active: boolean | undefined
}

/** Returns an attribute by its name, which is not case-sensitive (RFC 7643 section 2.1). */
export function attribute(of: unknown, name: string): unknown {
  if (!isMapping(of)) return undefined
  const key = Object.keys(of).find((one) => one.toLowerCase() === name.toLowerCase())
  return key === undefined ? undefined : of[key]
}

/** A text of one line, or null. Throws 400 for anything else. */
export function textIn(of: unknown, name: string, path = name): string | null {
  const value = attribute(of, name)
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string' || value.length > 255 || !isName(value))
    throw invalidValue(`${path} must be a text of at most 255 characters, in one line.`)
  return value.trim() || null
}

/** A text, number or flag as text; empty for anything else, which may not convert. */
export const plain = (value: unknown): string =>
  ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : ''

/** Entra sends `"True"` and `"False"`. */
function flagIn(of: unknown, name: string): boolean | undefined {
  const value = attribute(of, name)
  if (value === undefined || value === null) return undefined
  const text = plain(value).toLowerCase()
  if (typeof value === 'boolean' || text === 'true' || text === 'false') return text === 'true'
  throw invalidValue(`${name} must be true or false.`)
}

/** The primary address, otherwise the one for work, otherwise the first. */
function emailIn(body: unknown): string | null {
  const given = attribute(body, 'emails')
  if (given === undefined || given === null) return null
  const all = [given].flat().filter((one) => textIn(one, 'value', 'emails.value') !== null)
  const chosen =
    all.find((one) => plain(attribute(one, 'primary')).toLowerCase() === 'true') ??
    all.find((one) => attribute(one, 'type') === 'work') ??
    all[0]
  return chosen === undefined ? null : textIn(chosen, 'value')
}

const joined = (...parts: (string | null)[]): string => parts.filter((part) => part !== null).join(' ')

/** Reads the body of a user. Throws 400 for values that svc cannot store. */
export function wantedUser(body: unknown): WantedUser {
  const userName = textIn(body, 'userName')
  if (userName === null) throw invalidValue('userName is required.')
  const email = emailIn(body) ?? userName
  if (!isEmail(email)) throw invalidValue('emails must have an email address, unless userName is one.')
  const name = attribute(body, 'name')
  const [givenName, familyName] = [
    textIn(name, 'givenName', 'name.givenName'),
    textIn(name, 'familyName', 'name.familyName'),
  ]
  const parts = joined(givenName, familyName)
  const full = textIn(body, 'displayName') ?? textIn(name, 'formatted', 'name.formatted') ?? (parts || userName)
  if (full.length > 255) throw invalidValue('displayName must have at most 255 characters.')
  return {
    ...{ userName, email, givenName, familyName, name: full },
    externalId: textIn(body, 'externalId'),
    active: flagIn(body, 'active'),
  }
}

/**
 * Returns a patched user whose full name follows its parts: clients change the formatted name, or only the given or the family
 * name.
 */
export function withFullName(before: Resource, after: unknown): unknown {
  const [old, next] = [wantedUser(before), wantedUser(after)]
  if (next.name !== old.name) return after
  const formatted = textIn(attribute(after, 'name'), 'formatted', 'name.formatted')
  if (formatted !== null && formatted !== old.name) return { ...Object(after), displayName: formatted }
  const name = joined(next.givenName, next.familyName)
  const hasFollowed = joined(old.givenName, old.familyName) === old.name
  return hasFollowed && name !== '' ? { ...Object(after), displayName: name } : after
}
