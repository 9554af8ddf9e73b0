import type { Lookups, OauthRecordRow } from '../../../../auth/access/lookups/lookups.ts'
import type { User } from '../../../../identity/user.ts'
import type { Clock } from '../../../../platform/clock.ts'
import { splitScopes } from '../../clients/choose-target.ts'
import type { RegisteredClient, Registry } from '../../clients/clients.ts'
import type { Target } from '../../clients/targets.ts'
import type { RecordSeal } from '../../records/record-seal.ts'
import { recordId } from '../../records/store.ts'
import { isInTime, usualGrant } from './usual-grant.ts'

export interface ExchangeableParts {
  registry: Registry
  seal: RecordSeal
  clock: Clock
  lookups: Pick<Lookups, 'oauthToken'>
}

/** Code or refresh token, as the library stores it. Times in Unix seconds. */
interface StoredSource {
  jti: string
  iat: number
  exp: number
  clientId: string
  accountId: string
  grantId: string
  scope?: string
  resource?: string | string[]
  acr?: string
  amr?: string[]
  authTime?: number
  nonce?: string
  sid?: string
  sessionUid?: string
  expiresWithSession?: boolean
  gty?: string
  rotations?: number
  iiat?: number
  redirectUri?: string
  codeChallenge?: string
  codeChallengeMethod?: string
}

/** The known fields. The library handles a record with any other field, such as the key that a token is bound to. */
const usualFields = new Set([
  ...['jti', 'kind', 'iat', 'exp', 'clientId', 'accountId', 'grantId', 'scope', 'resource', 'acr', 'amr', 'authTime'],
  ...['nonce', 'sid', 'sessionUid', 'expiresWithSession', 'gty', 'rotations', 'iiat'],
  ...['redirectUri', 'codeChallenge', 'codeChallengeMethod'],
])

/** Payload of a session's record. */
interface StoredSession {
  uid?: string
  iat?: number
  exp?: number
  accountId?: string
}

/** A valid code or refresh token, and what its tokens get. */
export interface Exchangeable {
  source: StoredSource
  row: OauthRecordRow
  grant: OauthRecordRow
  session: OauthRecordRow | null
  user: User
  target: Target
  /** Scopes of the access token. */
  scopes: readonly string[]
  /** Granted OpenID Connect scopes. */
  identity: readonly string[]
}

/** Returns an unused code or refresh token of a client that needs no decision of the library; null for any other. */
export async function findExchangeable(
  kind: 'AuthorizationCode' | 'RefreshToken',
  value: string,
  { client_id }: RegisteredClient,
  { registry, seal, clock, lookups }: ExchangeableParts,
): Promise<Exchangeable | null> {
  // If the lookup fails, the library repeats it and returns the error.
  const found = await lookups.oauthToken(recordId(kind, value)).catch(() => null)
  if (!found) return null
  const { record: row, grant: grantRow, session, user } = found
  if (!grantRow || !user || user.disabled || !isCurrent(row, kind) || !isCurrent(grantRow, 'Grant')) return null
  const source = seal.open<StoredSource>(row)
  if (!source || Object.keys(source).some((name) => !usualFields.has(name))) return null
  const isTheirs = source.jti === value && source.clientId === client_id && source.accountId === String(user.id)
  if (!isTheirs || !isInTime(source)) return null
  const grant = usualGrant(grantRow, seal, { sub: source.accountId, client_id })
  if (!grant || grant.jti !== source.grantId || !isBoundTo(session, source)) return null
  const [resource, ...others] = [source.resource ?? []].flat()
  const target = registry.targets(client_id).find((one) => one.resource === resource)
  if (!target || others.length > 0) return null
  const asked = new Set(splitScopes(source.scope))
  const allowed = splitScopes(grant.resources?.[target.resource])
  const scopes = allowed.filter((scope) => asked.has(scope) && target.tokenScopes.has(scope))
  if (scopes.length === 0) return null
  const identity = asked.has('openid') ? splitScopes(grant.openid?.scope).filter((scope) => asked.has(scope)) : []
  return { source, row, grant: grantRow, session, user, target, scopes, identity }

  function isCurrent({ kind: actual, consumedAt, expiresAt }: OauthRecordRow, expected: string): boolean {
    return actual === expected && consumedAt === null && expiresAt !== null && expiresAt > clock.now()
  }

  /** Tests whether the session with which a token ends is still one of the same user. */
  function isBoundTo(session: OauthRecordRow | null, { sessionUid, accountId, expiresWithSession }: StoredSource) {
    if (!expiresWithSession) return true
    const stored = session && isCurrent(session, 'Session') ? seal.open<StoredSession>(session) : null
    return stored !== null && isInTime(stored) && stored.uid === sessionUid && stored.accountId === accountId
  }
}
