import type { User } from '../../users/user.ts'

/** An API token's record with its owner; dates as the wire shows them. */
export interface TokenRow {
  id: bigint
  tokenableType: string
  name: string
  token: string
  abilities: string | null
  lastUsedAt: string | null
  expiresAt: string | null
  createdAt: string | null
  /** Null when the owner is gone. */
  user: User | null
}

/** A session's record with its user; dates in unix milliseconds. */
export interface SessionRow {
  id: string
  publicId: string
  rememberTokenId: bigint | null
  passwordFingerprint: string | null
  data: string
  createdAt: number
  lastSeenAt: number
  user: User | null
  /** The user's password hash as it is now. */
  password: string | null
}

/** A remembered device's record with its user. */
export interface RememberRow {
  id: bigint
  tokenHash: string
  previousHash: string | null
  passwordFingerprint: string | null
  expiresAt: number
  user: User | null
  password: string | null
}

/** A record of the OAuth server; times in unix milliseconds. */
export interface OauthRecordRow {
  id: string
  kind: string
  payload: string
  /** The hash by which it was asked for. */
  key: string
  consumedAt: number | null
  expiresAt: number | null
  /** The public id of the browser session that it follows. */
  sessionId: string | null
}

/** How a pool of connections is doing at the moment. */
interface PoolState {
  readonly totalCount: number
  readonly idleCount: number
  /** Queries that wait for a connection. */
  readonly waitingCount: number
}

/**
 * The lookups of the hot path: each asks the database, and those that arrive in one turn of the event loop share a query.
 * Keys are parsed before they come here, so that none can fail the others; a failed query rejects with 503.
 */
export interface Lookups {
  tokenById(id: bigint): Promise<TokenRow | null>
  /** By SHA-256 (hex): tokens from before ids were part of the text. */
  tokenByHash(hash: string): Promise<TokenRow | null>
  /** By SHA-256 (hex) of the id in the cookie. */
  session(hash: string): Promise<SessionRow | null>
  rememberToken(id: bigint): Promise<RememberRow | null>
  user(id: bigint): Promise<User | null>
  /** By public id: sessions that something else refers to. */
  sessionByPublicId(publicId: string): Promise<SessionRow | null>
  oauthRecord(id: string): Promise<OauthRecordRow | null>
  oauthRecordByUid(hash: string): Promise<OauthRecordRow | null>
  oauthRecordByCode(hash: string): Promise<OauthRecordRow | null>
  /** Whether the JWT with this SHA-256 (hex) of its jti was revoked. */
  isDenied(hash: string): Promise<boolean>
  /** Whether there is still a personal access token of this jti. */
  hasPersonalToken(jti: string): Promise<boolean>
  /** The connections of its own, where it has any. */
  pool?: PoolState
  close(): Promise<void>
}
