import type { User } from '../../../identity/user.ts'
import type { UserWithPassword } from '../../../identity/users.ts'

/** An API token with its owner; dates in API format. */
export interface TokenRow {
  id: bigint
  tokenableType: string
  name: string
  token: string
  abilities: string | null
  lastUsedAt: string | null
  expiresAt: string | null
  createdAt: string | null
  /** Thumbprint of the key whose proofs requests must carry; null for a bearer token. */
  keyThumbprint: string | null
  /** Null if the owner was deleted. */
  user: User | null
}

/** A session with its user; dates in Unix milliseconds. */
export interface SessionRow {
  id: string
  publicId: string
  rememberTokenId: bigint | null
  passwordFingerprint: string | null
  data: string
  createdAt: number
  lastSeenAt: number
  /** The binding whose cookie the browser must send too. */
  bindingId: string | null
  /** When the browser registered its key in this session; null otherwise. */
  boundAt: number | null
  user: User | null
  /** Current password hash of the user. */
  password: string | null
}

/** A remembered device with its user. */
export interface RememberRow {
  id: bigint
  tokenHash: string
  previousHash: string | null
  passwordFingerprint: string | null
  expiresAt: number
  /** The binding whose cookie the browser must send too. */
  bindingId: string | null
  user: User | null
  password: string | null
}

/** An OAuth record; times in Unix milliseconds. */
export interface OauthRecordRow {
  id: string
  kind: string
  payload: string
  /** The hash used as lookup key. */
  key: string
  consumedAt: number | null
  expiresAt: number | null
  /** Public id of the browser session that the record depends on. */
  sessionId: string | null
}

/** A code or a refresh token, and what it depends on. */
export interface OauthTokenRow {
  record: OauthRecordRow
  /** Null if the grant ended. */
  grant: OauthRecordRow | null
  /** Session with which it ends. */
  session: OauthRecordRow | null
  user: User | null
}

/** What an access token of a grant depends on. Most checks need only the expiry of the grant, in Unix milliseconds. */
export interface GrantTokenRow<Grant = { expiresAt: number | null }> {
  key: string
  isDenied: boolean
  grant: Grant | null
  user: User | null
}

/** A personal access token. */
export interface PersonalTokenRow {
  /** The jti of its JWT. */
  id: string
  name: string
}

/** State of a connection pool. */
interface PoolState {
  readonly totalCount: number
  readonly idleCount: number
  /** Queries that wait for a connection. */
  readonly waitingCount: number
}

/**
 * Lookups of the hot path. Each reads the database; lookups in one event loop turn share a query. Callers parse keys
 * first, so that one invalid key cannot fail the others. A failed query rejects with 503.
 */
export interface Lookups {
  tokenById(id: bigint): Promise<TokenRow | null>
  /** By SHA-256 (hex), for legacy tokens without an id. */
  tokenByHash(hash: string): Promise<TokenRow | null>
  /** By SHA-256 (hex) of the id in the cookie. */
  session(hash: string): Promise<SessionRow | null>
  rememberToken(id: bigint): Promise<RememberRow | null>
  user(id: bigint): Promise<User | null>
  /** By normalised address. */
  userByEmail(email: string): Promise<UserWithPassword | null>
  /** By stored username. */
  userByUsername(username: string): Promise<User | null>
  /** By public id. */
  sessionByPublicId(publicId: string): Promise<SessionRow | null>
  oauthRecord(id: string): Promise<OauthRecordRow | null>
  oauthRecordByUid(hash: string): Promise<OauthRecordRow | null>
  oauthRecordByCode(hash: string): Promise<OauthRecordRow | null>
  /** By the id of a code's or a refresh token's record. */
  oauthToken(id: string): Promise<OauthTokenRow | null>
  /** Tests whether the JWT with this SHA-256 (hex) of its jti was revoked. */
  isDenied(hash: string): Promise<boolean>
  /** By the SHA-256 (hex) of the jti of a JWT, the id of its grant's record, and the id of its user, in this order. */
  grantToken(key: string): Promise<GrantTokenRow>
  /** Like `grantToken`, with the whole record of the grant. */
  grantTokenWithRecord(key: string): Promise<GrantTokenRow<OauthRecordRow>>
  /** By the jti of the JWT. */
  personalToken(jti: string): Promise<PersonalTokenRow | null>
  /** Separate connection pool, if there is one. */
  pool?: PoolState
  close(): Promise<void>
}
