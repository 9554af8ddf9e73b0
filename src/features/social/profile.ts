import { isEmail, withoutControls } from '../../http/formats.ts'
import { canonicalEmail } from '../../users/user.ts'
import type { ProfileMap } from './presets.ts'
import type { SocialProvider } from './provider.ts'

/** Who somebody is at a provider. */
export interface SocialProfile {
  provider: string
  issuer: string
  providerId: string
  /** Null where the provider gives none that is an address. */
  email: { address: string; verified: boolean } | null
  name: string | null
  /** An https URL. */
  avatar: string | null
}

/** JSON that a provider sent. */
export type Claims = Readonly<Record<string, unknown>>

const longestId = 255
const longestName = 255
const longestUrl = 2_048

/** The object that a provider's answer is; throws for anything else. */
export function claimsOf(value: unknown): Claims {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('the profile is no object')
  return Object.fromEntries(Object.entries(value))
}

/** What a field holds; dots lead into objects, and nothing is found that is not the answer's own. */
function fieldOf(claims: Claims, path: string): unknown {
  let value: unknown = claims
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Object.entries(value).find(([name]) => name === key)?.[1]
  }
  return value
}

/** A text without control characters and lone surrogates, not empty and cut to the longest length. */
function textOf(value: unknown, maxLength: number): string | null {
  if (typeof value !== 'string') return null
  const text = [...withoutControls(value.toWellFormed()).trim()].slice(0, maxLength).join('')
  return text === '' ? null : text
}

/** The id as text; throws for what cannot tell one account from another. */
function idOf(value: unknown): string {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  const isGood = typeof text === 'string' && text !== '' && text.length <= longestId && !/\p{Cc}/u.test(text)
  if (!isGood || !text.isWellFormed()) throw new Error('the profile has no usable id')
  return text
}

/** As a URL writes it: without what a database does not take. */
function urlOf(value: unknown): string | null {
  const url = typeof value === 'string' ? URL.parse(value) : null
  return url?.protocol === 'https:' && url.href.length <= longestUrl ? url.href : null
}

/** The address if it is one, and whether the provider vouches for it: for this one, and not for another that looks like it. */
const emailOf = (value: unknown, verified: boolean): SocialProfile['email'] => {
  const address = typeof value === 'string' ? value.trim() : ''
  if (!isEmail(address) || !address.isWellFormed()) return null
  return { address, verified: verified && canonicalEmail(address) === address.normalize('NFC').toLowerCase() }
}

/** The profile that a provider's claims describe; throws where they name nobody. */
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
    name: textOf(field('name'), longestName),
    avatar: urlOf(field('avatar')),
  }
}

/** Where the two lists keep what. */
const listFields = {
  github: { primary: 'primary', verified: 'verified' },
  bitbucket: { primary: 'is_primary', verified: 'is_confirmed' },
} as const

/** The primary address of a list that says which addresses the provider verified. */
export function primaryEmail(kind: 'github' | 'bitbucket', answer: unknown): SocialProfile['email'] {
  const list = kind === 'github' ? answer : claimsOf(answer).values
  if (!Array.isArray(list)) throw new Error('the list of addresses is none')
  const { primary, verified } = listFields[kind]
  const found = list.map(claimsOf).find((entry) => entry[primary] === true)
  return found ? emailOf(found.email, found[verified] === true) : null
}

/** The name that Apple tells once, beside its code: `{"name": {"firstName": …, "lastName": …}}`. */
export function appleName(user: string | null): string | null {
  if (user === null) return null
  try {
    const claims = claimsOf(JSON.parse(user))
    const parts = [fieldOf(claims, 'name.firstName'), fieldOf(claims, 'name.lastName')]
    return textOf(parts.filter((part) => typeof part === 'string').join(' '), longestName)
  } catch {
    return null
  }
}
