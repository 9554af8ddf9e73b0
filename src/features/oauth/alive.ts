import type { FastifyInstance } from 'fastify'
import { isLive } from '../../access/session-store.ts'
import { sha256Hex } from '../../crypto/hash.ts'
import { isLiveToken } from '../../tokens/bearer.ts'
import type { User } from '../../users/user.ts'
import type { AccessTokenClaims } from './access-token.ts'
import { recordId } from './protocol/store.ts'

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
}

/** What a token depends on, while it exists. */
interface Origin {
  name: string | null
}

const unnamed: Origin = { name: null }

type Parts = Pick<FastifyInstance, 'lookups' | 'clock' | 'config'>

/**
 * Returns the token of these claims if it is live: not revoked, with an existing client, enabled user and origin. Null otherwise.
 * Reads the database each time.
 */
export async function findLiveToken(
  { lookups, clock, config }: Parts,
  isRegistered: (clientId: string) => boolean,
  claims: AccessTokenClaims,
): Promise<LiveToken | null> {
  if (!isRegistered(claims.client_id)) return null
  const isMachine = claims.gty === 'client_credentials'
  const [isDenied, user, origin] = await Promise.all([
    isRevoked([claims.jti, ...subjectsOf(claims)]),
    isMachine ? null : findUser(lookups, claims.sub),
    isMachine ? unnamed : findOrigin(),
  ])
  if (isDenied || !origin) return null
  if (isMachine) return { claims, user: null, name: null }
  return user && !user.disabled ? { claims, user, name: origin.name } : null

  /** Tests whether the token was revoked, or one that it was exchanged for. */
  async function isRevoked(jtis: readonly string[]): Promise<boolean> {
    const found = await Promise.all(jtis.map((jti) => lookups.isDenied(sha256Hex(jti))))
    return found.includes(true)
  }

  /** The live grant, session or row that the token depends on; null if it ended. */
  async function findOrigin(): Promise<Origin | null> {
    const { gid, jti, sub } = claims
    if (gid === undefined) return null
    if (gid === personalOrigin) return lookups.personalToken(jti)
    if (gid.startsWith(sessionOrigin(''))) {
      const row = await lookups.sessionByPublicId(gid.slice(sessionOrigin('').length))
      const isOwn = row !== null && isLive(row, clock.now(), config.current().session) && String(row.user?.id) === sub
      return isOwn ? unnamed : null
    }
    if (gid.startsWith(apiTokenOrigin(''))) {
      const id = BigInt(gid.slice(apiTokenOrigin('').length))
      return (await isLiveToken(id, sub, { lookups, clock, config })) ? unnamed : null
    }
    const grant = await lookups.oauthRecord(recordId('Grant', gid))
    return grant && (grant.expiresAt === null || grant.expiresAt > clock.now()) ? unnamed : null
  }
}

/** `jti` of the tokens that a token was exchanged for, the latest first. */
export const subjectsOf = ({ subject_jti }: Pick<AccessTokenClaims, 'subject_jti'>): readonly string[] =>
  [subject_jti ?? []].flat()

const findUser = async (lookups: Parts['lookups'], sub: string): Promise<User | null> =>
  /^\d{1,16}$/.test(sub) ? lookups.user(BigInt(sub)) : null
