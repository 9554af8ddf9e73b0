import type { Fields } from '../../../identity/fields.ts'
import { isEmail, isVisible, withoutControls } from '../../../platform/http/formats.ts'
import type { ProfileMap } from './presets.ts'
import type { SocialProvider } from './provider.ts'

/** A user's profile at a provider. */
export interface SocialProfile {
  provider: string
  issuer: string
  providerId: string
  /** Null without a valid address. */
  email: { address: string; verified: boolean } | null
  /** Why the address is missing or does not count as verified, for the log; null if it does. */
  emailProblem: string | null
  /** Whether the provider answered every request. */
  isComplete: boolean
  name: string | null
  given_name: string | null
  family_name: string | null
  /** An https URL. */
  avatar: string | null
  /** Values of the claim with the groups; null if the provider did not list them. */
  groups: readonly string[] | null
  /** Values for fields of the user, by name, as the provider sent them; null for one that it did not send. */
  fields: Fields
}

/** JSON from a provider. */
export type Claims = Readonly<Record<string, unknown>>

const maxIdLength = 255
const maxNameLength = 255
const maxUrlLength = 2_048

/** Returns the response as an object. Throws for anything else. */
export function claimsOf(value: unknown): Claims {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('the profile is not an object')
  return Object.fromEntries(Object.entries(value))
}

/** Returns a field: of this name, or nested fields that dots select. Own properties only. */
function fieldOf(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Object.entries(value).find(([name]) => name === key)?.[1]
  }
  return value
}

/** Returns text without control characters and lone surrogates, truncated to the maximum length; null if empty. */
function textOf(value: unknown, maxLength: number): string | null {
  if (typeof value !== 'string') return null
  const text = [...withoutControls(value.toWellFormed()).trim()].slice(0, maxLength).join('')
  return isVisible(text) ? text : null
}

/** Returns the id as text. Throws for an unusable id. */
function idOf(value: unknown): string {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  const isGood = typeof text === 'string' && text !== '' && text.length <= maxIdLength && !/\p{Cc}/u.test(text)
  if (!isGood || !text.isWellFormed()) throw new Error('the profile has no usable id')
  return text
}

/** Normalises a URL, which removes characters that databases reject. */
function urlOf(value: unknown): string | null {
  const url = typeof value === 'string' ? URL.parse(value) : null
  return url?.protocol === 'https:' && url.href.length <= maxUrlLength ? url.href : null
}

/** Booleans as providers send them: some as text, and Microsoft also as 1. */
const isTrue = (value: unknown): boolean => value === true || value === 'true' || value === 1 || value === '1'

/** Returns a valid address, and whether it counts as verified. */
const emailOf = (value: unknown, verified: boolean): SocialProfile['email'] => {
  const address = typeof value === 'string' ? value.trim() : ''
  if (!isEmail(address) || !address.isWellFormed()) return null
  return { address, verified }
}

/** The parts of a profile that concern the address. */
export type ProfileAddress = Pick<SocialProfile, 'email' | 'emailProblem'>

/** Returns whether claims have a value: some providers send null or empty text instead of omitting a claim. */
export const hasClaim = (claims: Claims, path: string): boolean => {
  const value = fieldOf(claims, path)
  return value !== undefined && value !== null && value !== ''
}

/** Returns the address in claims, and whether the provider and the configuration verify it. */
export function addressIn({ map, trust, confirmsEmails }: SocialProvider, claims: Claims): ProfileAddress {
  const flag = map.email_verified
  const isStated = hasClaim(claims, flag) || confirmsEmails
  const isConfirmed = isStated ? confirmsEmails || isTrue(fieldOf(claims, flag)) : trust === 'without_claim'
  const email = emailOf(fieldOf(claims, map.email), trust !== 'none' && isConfirmed)
  if (!email) {
    const isInvalid = hasClaim(claims, map.email)
    return { email, emailProblem: isInvalid ? `${map.email} is no email address` : `the claim ${map.email} is missing` }
  }
  if (email.verified) return { email, emailProblem: null }
  if (trust === 'none') return { email, emailProblem: 'trust_email is off' }
  return { email, emailProblem: isStated ? `${flag} is not true` : `the claim ${flag} is missing` }
}

/** Maximum number of values of the claim with the groups. */
const maxGroupValues = 1_000

/**
 * Returns the values of the claim with the groups. Without the claim, the user has none, unless the provider says that it
 * left out a long list: Entra ID then sends `_claim_names` or `hasgroups`.
 */
function groupsIn({ config }: SocialProvider, claims: Claims): readonly string[] | null {
  const path = config.groups?.claim
  // Without the key, the provider gives no groups any more.
  if (path === undefined) return []
  const value = fieldOf(claims, path)
  const isLeftOut = hasClaim(claims, `_claim_names.${path}`) || isTrue(claims.hasgroups)
  if (value === undefined || value === null) return isLeftOut ? null : []
  return [value]
    .flat()
    .flatMap((one) => (typeof one === 'string' ? [one] : []))
    .slice(0, maxGroupValues)
}

/** Converts claims to a profile. Throws without a usable id. */
export function profileOf(provider: SocialProvider, claims: Claims): SocialProfile {
  const { map, id, issuer, workspace } = provider
  const field = (name: keyof ProfileMap) => fieldOf(claims, map[name])
  const own = idOf(field('id'))
  return {
    provider: id,
    issuer,
    providerId: workspace === null ? own : idOf(`${idOf(fieldOf(claims, workspace))}/${own}`),
    ...addressIn(provider, claims),
    isComplete: true,
    name: textOf(field('name'), maxNameLength),
    // By their standard names only.
    given_name: textOf(claims.given_name, maxNameLength),
    family_name: textOf(claims.family_name, maxNameLength),
    avatar: urlOf(field('avatar')),
    groups: groupsIn(provider, claims),
    fields: Object.fromEntries(
      Object.entries(provider.config.fields).map(([name, path]) => [name, fieldOf(claims, path) ?? null]),
    ),
  }
}

/** Fields of the two list formats. */
const listFields = {
  github: { primary: 'primary', verified: 'verified' },
  bitbucket: { primary: 'is_primary', verified: 'is_confirmed' },
} as const

/** Returns the primary address of a list with verification status. */
export function primaryEmail(provider: Pick<SocialProvider, 'emails' | 'trust'>, answer: unknown): ProfileAddress {
  const kind = provider.emails ?? 'github'
  const list = kind === 'github' ? answer : claimsOf(answer).values
  if (!Array.isArray(list)) throw new Error('the response is not a list of addresses')
  const { primary, verified } = listFields[kind]
  const found = list.map(claimsOf).find((entry) => entry[primary] === true)
  const email = found ? emailOf(found.email, provider.trust !== 'none' && found[verified] === true) : null
  if (!email) return { email, emailProblem: 'the account has no primary address' }
  const problem = provider.trust === 'none' ? 'trust_email is off' : `${verified} is not true`
  return { email, emailProblem: email.verified ? null : problem }
}

/** The name that Apple sends once, with the code: `{"name": {"firstName": …, "lastName": …}}`. */
export function appleName(user: string | null): string | null {
  if (user === null) return null
  try {
    const claims = claimsOf(JSON.parse(user))
    const parts = [fieldOf(claims, 'name.firstName'), fieldOf(claims, 'name.lastName')]
    return textOf(parts.filter((part) => typeof part === 'string').join(' '), maxNameLength)
  } catch {
    return null
  }
}
