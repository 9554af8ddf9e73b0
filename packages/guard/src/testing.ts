import { type CryptoKey, exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose'
import type { GuardOptions } from './options.ts'

/** The caller of a test. */
export interface TestCaller {
  /** The user's id, or the `client_id` of a machine. */
  id: string | number
  abilities?: readonly string[]
  role?: string
  email?: string
  name?: string
  /** The agent that acts for the user. */
  actor?: string
  /** Whether the user signed in with a second factor. */
  secondFactor?: boolean
}

// No real issuer can have these names (RFC 2606).
const issuer = 'https://svc-guard.test'
const audience = 'https://api.svc-guard.test'
const lifetime = 600

let issuing: Promise<{ privateKey: CryptoKey; keys: JSONWebKeySet }> | undefined

/** The key of this process. It exists in memory only. */
function throwAwayKey() {
  if (globalThis.process?.env.NODE_ENV === 'production') {
    throw new Error('@svc/guard/testing must not be used in production (NODE_ENV is production).')
  }
  issuing ??= generateKeyPair('ES256').then(async ({ privateKey, publicKey }) => {
    const key = { ...(await exportJWK(publicKey)), kid: 'throw-away', alg: 'ES256', use: 'sig' }
    return { privateKey, keys: { keys: [key] } }
  })
  return issuing
}

/** Options that make `guard()` accept the tokens of `actingAs()` instead of those of svc. */
export async function testOptions(): Promise<GuardOptions> {
  const { keys } = await throwAwayKey()
  return { issuer, audience, keys }
}

/** Returns the headers of a request by this caller. The token is valid for ten minutes. */
export async function actingAs({
  id,
  abilities = [],
  role,
  email,
  name,
  actor,
  secondFactor = false,
}: TestCaller): Promise<{ authorization: string }> {
  const { privateKey } = await throwAwayKey()
  const claims = {
    client_id: 'svc-guard-testing',
    scope: abilities.join(' '),
    ...(role === undefined ? {} : { role }),
    ...(email === undefined ? {} : { email, email_verified: true }),
    ...(name === undefined ? {} : { name }),
    ...(actor === undefined ? {} : { act: { sub: actor } }),
    ...(secondFactor ? { acr: '2' } : {}),
  }
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'throw-away' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(String(id))
    .setIssuedAt()
    .setExpirationTime(`${lifetime}s`)
    .sign(privateKey)
  return { authorization: `Bearer ${token}` }
}
