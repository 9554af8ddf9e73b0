import type { StepUpFactor } from '../../feature.ts'

/**
 * The authentication context classes (`acr`) that svc knows, each stronger than the one before: nothing but a remembered
 * browser, one factor, two factors, and phishing-resistant authentication (OpenID EAP ACR values).
 */
export const acrValues = ['0', '1', '2', 'phr'] as const

export type Acr = (typeof acrValues)[number]

const isAcr = (value: string): value is Acr => acrValues.includes(value as Acr)

const isAtLeast = (reached: Acr, asked: Acr): boolean => acrValues.indexOf(reached) >= acrValues.indexOf(asked)

/** The classes that are this one or stronger. */
export const acrsFrom = (weakest: Acr): readonly Acr[] => acrValues.slice(acrValues.indexOf(weakest))

/** The class that these methods (`amr`) amount to. */
export function acrOf(methods: readonly string[]): Acr {
  if (methods.includes('mfa')) return methods.includes('pop') ? 'phr' : '2'
  return methods.length > 0 ? '1' : '0'
}

/** What an authorization request asks of the authentication. */
export interface AskedContext {
  /** In the order in which the client prefers them; empty where it names only values that svc does not know. */
  values: readonly Acr[]
  /** Whether the request fails if none of them is reached (OpenID Connect Core section 5.5.1.1). */
  essential: boolean
}

interface AcrClaim {
  essential?: unknown
  value?: unknown
  values?: unknown
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** The values that svc knows, without repeats. */
export const knownValues = (values: readonly string[]): Acr[] => [...new Set(values)].filter(isAcr)

/** The single claim `acr` among the claims of an ID token; null unless it names values. Throws for one that is malformed. */
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

/** Throws a TypeError that says what is wrong with the `acr` of a `claims` parameter. */
export const checkAcrClaim = (claims: object): void => void acrClaim(claims)

/** What a request asks for: an essential claim counts before `acr_values`, which is a wish. */
export function askedContext(params: { acr_values?: unknown; claims?: unknown }): AskedContext | null {
  const claim = isText(params.claims) && params.claims.includes('acr') ? acrClaim(JSON.parse(params.claims)) : null
  if (claim?.essential) return { values: knownValues(claim.values), essential: true }
  const wished = isText(params.acr_values) ? params.acr_values.split(' ') : (claim?.values ?? [])
  const values = knownValues(wished)
  return values.length > 0 ? { values, essential: false } : null
}

/** Whether one of the values that are asked for is reached. */
export const isReached = (reached: Acr, { values }: AskedContext): boolean =>
  values.some((value) => isAtLeast(reached, value))

/** The class to tell the client: the first of its values that is reached, else the one that is reached. */
export const toldAcr = (reached: Acr, asked: AskedContext | null): Acr =>
  asked?.values.find((value) => isAtLeast(reached, value)) ?? reached

/** The second factors that a user has enrolled, and that the configuration allows. */
export interface Factors {
  code: boolean
  phishingResistant: readonly StepUpFactor[]
}

/** What a user does to reach a class: proves a factor in the session, or signs in anew. */
export type StepUp = Factors | 'sign_in'

/** What is needed to reach one of the values that are asked for; null where the user has no means to. */
export function stepUpTo({ values }: AskedContext, methods: readonly string[], factors: Factors): StepUp | null {
  const lowest = acrValues.find((value) => values.includes(value))
  if (lowest === '1') return 'sign_in'
  const isResistant = factors.phishingResistant.length > 0
  if (lowest === 'phr') return isResistant ? { ...factors, code: false } : null
  if (lowest !== '2' || !(factors.code || isResistant)) return null
  // A code alone is one factor: a remembered browser has not proved the first.
  return methods.length > 0 ? factors : 'sign_in'
}
