import { isEmail, withoutControls } from '../../http/formats.ts'
import { canonicalEmail } from '../../users/user.ts'
import type { ProfileMap } from './presets.ts'
import type { SocialProvider } from './provider.ts'

/** A user's profile at a provider. */
export interface SocialProfile {
  provider: string
  issuer: string
  providerId: string
  /** Null without a valid address. */
  email: { address: string; verified: boolean } | null
  name: string | null
  /** An https URL. */
  avatar: string | null
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

/** Returns a field; dots select nested fields, own properties only. */
function fieldOf(claims: Claims, path: string): unknown {
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
  return text === '' ? null : text
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

/** Returns a valid address, and whether the provider verified exactly this spelling. */
const emailOf = (value: unknown, verified: boolean): SocialProfile['email'] => {
  const address = typeof value === 'string' ? value.trim() : ''
  if (!isEmail(address) || !address.isWellFormed()) return null
  return { address, verified: verified && canonicalEmail(address) === address.normalize('NFC').toLowerCase() }
}

/** Converts claims to a profile. Throws without a usable id. */
export function profileOf(provider: SocialProvider, claims: Claims): SocialProfile {
  const { map, trustsEmail, flagsAsText, id, issuer } = provider
  const field = (name: keyof ProfileMap) => fieldOf(claims, map[name])
  const flag = field('email_verified')
  const isVerified = flag === true || (flagsAsText && flag === 'true')
  return {
    provider: id,
    issuer,
    providerId: idOf(field('id')),
    email: emailOf(field('email'), trustsEmail && isVerified),
    name: textOf(field('name'), maxNameLength),
    avatar: urlOf(field('avatar')),
  }
}

/** Fields of the two list formats. */
const listFields = {
  github: { primary: 'primary', verified: 'verified' },
  bitbucket: { primary: 'is_primary', verified: 'is_confirmed' },
} as const

/** Returns the primary address of a list with verification status. */
export function primaryEmail(kind: 'github' | 'bitbucket', answer: unknown): SocialProfile['email'] {
  const list = kind === 'github' ? answer : claimsOf(answer).values
  if (!Array.isArray(list)) throw new Error('the response is not a list of addresses')
  const { primary, verified } = listFields[kind]
  const found = list.map(claimsOf).find((entry) => entry[primary] === true)
  return found ? emailOf(found.email, found[verified] === true) : null
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
