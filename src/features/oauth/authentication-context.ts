import type { StepUpFactor } from '../../contract/feature.ts'

/**
 * Authentication context classes (`acr`), from weak to strong: only a remembered browser, one factor, two factors, and
 * phishing-resistant authentication (OpenID EAP ACR values).
 */
export const acrValues = ['0', '1', '2', 'phr'] as const

export type Acr = (typeof acrValues)[number]

const isAcr = (value: string): value is Acr => acrValues.includes(value as Acr)

const isAtLeast = (reached: Acr, asked: Acr): boolean => acrValues.indexOf(reached) >= acrValues.indexOf(asked)

/** This class and the stronger ones. */
export const acrsFrom = (weakest: Acr): readonly Acr[] => acrValues.slice(acrValues.indexOf(weakest))

/** Class of these methods (`amr`). */
export function acrOf(methods: readonly string[]): Acr {
  if (methods.includes('mfa')) return methods.includes('pop') ? 'phr' : '2'
  return methods.length > 0 ? '1' : '0'
}

/** Requirements of an authorization request for the authentication. */
export interface AskedContext {
  /** In the client's order of preference; empty if svc knows none of its values. */
  values: readonly Acr[]
  /** Whether the request fails without one of them (OpenID Connect Core section 5.5.1.1). */
  essential: boolean
}

interface AcrClaim {
  essential?: unknown
  value?: unknown
  values?: unknown
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Known values, without duplicates. */
export const knownValues = (values: readonly string[]): Acr[] => [...new Set(values)].filter(isAcr)

/** Claim request `acr` of an ID token; null without values. Throws if it is malformed. */
function acrClaim(claims: unknown): { values: readonly string[]; essential: boolean } | null {
  const idToken = isObject(claims) && 'id_token' in claims ? claims.id_token : null
  const claim: AcrClaim | null = isObject(idToken) && 'acr' in idToken && isObject(idToken.acr) ? idToken.acr : null
  if (!claim || (claim.value === undefined && claim.values === undefined)) return null
  const values = claim.values ?? [claim.value]
  if (!Array.isArray(values) || !values.every(isText)) {
    throw new TypeError('claims.id_token.acr must have a string as value, or a list of strings as values')
  }
  return { values, essential: claim.essential === true }
}

/** Throws a TypeError that explains the error in the `acr` of a `claims` parameter. */
export const checkAcrClaim = (claims: object): void => void acrClaim(claims)

/** Classes that a request asks for. An essential claim takes precedence over `acr_values`, which are voluntary. */
export function askedContext(params: { acr_values?: unknown; claims?: unknown }): AskedContext | null {
  const claim = isText(params.claims) ? acrClaim(JSON.parse(params.claims)) : null
  if (claim?.essential) return { values: knownValues(claim.values), essential: true }
  const requested = isText(params.acr_values) ? params.acr_values.split(' ') : (claim?.values ?? [])
  const values = knownValues(requested)
  return values.length > 0 ? { values, essential: false } : null
}

/** Tests whether one of the requested values is reached. */
export const isReached = (reached: Acr, { values }: AskedContext): boolean =>
  values.some((value) => isAtLeast(reached, value))

/** Class to report to the client: its first requested value that is reached, otherwise the class of the session. */
export const toldAcr = (reached: Acr, asked: AskedContext | null): Acr =>
  asked?.values.find((value) => isAtLeast(reached, value)) ?? reached

/** Second factors that the user has enrolled and the configuration allows. */
export interface Factors {
  code: boolean
  phishingResistant: readonly StepUpFactor[]
}

/** How a user reaches a class: confirm a factor in the session, or sign in again. */
export type StepUp = Factors | 'sign_in'

/** Step that reaches one of the requested values; null if the user cannot reach any. */
export function stepUpTo({ values }: AskedContext, methods: readonly string[], factors: Factors): StepUp | null {
  const lowest = acrValues.find((value) => values.includes(value))
  if (lowest === '1') return 'sign_in'
  const isResistant = factors.phishingResistant.length > 0
  if (lowest === 'phr') return isResistant ? { ...factors, code: false } : null
  if (lowest !== '2' || !(factors.code || isResistant)) return null
  // A code alone is one factor, because a remembered browser has not confirmed the first one.
  return methods.length > 0 ? factors : 'sign_in'
}
