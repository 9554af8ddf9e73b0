import type { FastifyInstance } from 'fastify'
import type { OauthRecordRow } from '../../auth/access/lookups/lookups.ts'
import { isLive } from '../../auth/access/session-store.ts'
import { isLiveToken } from '../../auth/tokens/bearer.ts'
import type { User } from '../../identity/user.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import type { AccessTokenClaims } from './access-token.ts'
import { recordId } from './records/store.ts'

/** Origin of a token, as its `gid` says: a grant of the OAuth server, a session, a personal token's row or an API token. */
export const sessionOrigin = (publicId: string): string => `session:${publicId}`
export const personalOrigin = 'personal'
export const apiTokenOrigin = (id: bigint | ''): string => `api-token:${id}`

/** Valid access token of svc. */
export interface LiveToken {
  claims: AccessTokenClaims
  /** Null for a machine. */
  user: User | null
  /** Name that the user gave the token; null for tokens of clients. */
  name: string | null
  /** Record of the token's grant; null without a grant, and if the caller did not ask for it. */
  grant: OauthRecordRow | null
}

/** What a token depends on, while it exists. */
interface Origin {
  name: string | null
}

const unnamed: Origin = { name: null }

export interface FindOptions {
  /** Also returns the record of the grant, which is several times as long as everything else. */
  withGrant?: boolean
}

type Parts = Pick<FastifyInstance, 'lookups' | 'clock' | 'config'>

/**
 * Returns the token of these claims if it is live: not revoked, with an existing client, enabled user and origin. Null otherwise.
 * Reads the database each time.
 */
export function findLiveToken(
  parts: Parts,
  isRegistered: (clientId: string) => boolean,
  claims: AccessTokenClaims,
  options: FindOptions = {},
): Promise<LiveToken | null> {
  if (!isRegistered(claims.client_id)) return notLive
  const subjects = subjectsOf(claims)
  const token = findToken(parts, claims, options)
  return subjects.length === 0 ? token : unlessDenied(parts, token, subjects)
}

const notLive = Promise.resolve(null)

/** The token, unless one that it was exchanged for is denied. */
async function unlessDenied(parts: Parts, token: Promise<LiveToken | null>, subjects: readonly string[]) {
  const [found, ...areDenied] = await Promise.all([token, ...subjects.map((jti) => isDenied(parts, jti))])
  return areDenied.includes(true) ? null : found
}

/** The live token of these claims, regardless of the tokens that it was exchanged for. */
function findToken(parts: Parts, claims: AccessTokenClaims, options: FindOptions): Promise<LiveToken | null> {
  const { gty, gid = '', sub } = claims
  if (gty === 'client_credentials') return findMachineToken(parts, claims)
  if (!isUserId.test(sub)) return notLive
  if (isGrantId.test(gid) && gid !== personalOrigin) return findGrantToken(parts, claims, gid, options)
  return findOtherToken(parts, claims, gid)
}

async function findMachineToken(parts: Parts, claims: AccessTokenClaims): Promise<LiveToken | null> {
  return (await isDenied(parts, claims.jti)) ? null : { claims, user: null, name: null, grant: null }
}

/** The token of a user that belongs to no grant. */
async function findOtherToken(parts: Parts, claims: AccessTokenClaims, gid: string): Promise<LiveToken | null> {
  const { jti, sub } = claims
  const [isRevoked, user, origin] = await Promise.all([
    isDenied(parts, jti),
    parts.lookups.user(BigInt(sub)),
    findOrigin(parts, claims, gid),
  ])
  if (isRevoked || !origin || !user || user.disabled) return null
  return { claims, user, name: origin.name, grant: null }
}

/** Nearly all tokens belong to a grant, so that one query finds everything. */
async function findGrantToken(
  { lookups, clock }: Parts,
  claims: AccessTokenClaims,
  gid: string,
  { withGrant = false }: FindOptions,
): Promise<LiveToken | null> {
  const key = grantKeyOf(claims, gid)
  const full = withGrant ? await lookups.grantTokenWithRecord(key) : null
  const found = full ?? (await lookups.grantToken(key))
  const { user, grant } = found
  if (found.isDenied || !grant || !user || user.disabled) return null
  const hasEnded = grant.expiresAt !== null && grant.expiresAt <= clock.now()
  return hasEnded ? null : { claims, user, name: null, grant: full?.grant ?? null }
}

/** Keys of cached claims, which take two hashes each. */
const grantKeys = new WeakMap<AccessTokenClaims, string>()

function grantKeyOf(claims: AccessTokenClaims, gid: string): string {
  const known = grantKeys.get(claims)
  if (known) return known
  const key = sha256Hex(claims.jti) + recordId('Grant', gid) + claims.sub
  grantKeys.set(claims, key)
  return key
}

/** The live session or row that the token depends on; null if it ended. */
async function findOrigin(parts: Parts, { jti, sub }: AccessTokenClaims, gid: string): Promise<Origin | null> {
  const { lookups, clock, config } = parts
  if (gid === personalOrigin) return lookups.personalToken(jti)
  if (gid.startsWith(sessionOrigin(''))) {
    const row = await lookups.sessionByPublicId(gid.slice(sessionOrigin('').length))
    const isOwn = row !== null && isLive(row, clock.now(), config.current().session) && String(row.user?.id) === sub
    return isOwn ? unnamed : null
  }
  if (!gid.startsWith(apiTokenOrigin(''))) return null
  const id = BigInt(gid.slice(apiTokenOrigin('').length))
  return (await isLiveToken(id, sub, parts)) ? unnamed : null
}

const isDenied = ({ lookups }: Parts, jti: string): Promise<boolean> => lookups.isDenied(sha256Hex(jti))

/** `jti` of the tokens that a token was exchanged for, the latest first. */
export const subjectsOf = ({ subject_jti }: Pick<AccessTokenClaims, 'subject_jti'>): readonly string[] =>
  subject_jti === undefined ? [] : [subject_jti].flat()

const isUserId = /^\d{1,16}$/

/** Tests for an id of the library; other origins contain a colon. */
const isGrantId = /^[\w-]+$/
