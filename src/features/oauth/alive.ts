import type { FastifyInstance } from 'fastify'
import { isLive } from '../../access/session-store.ts'
import { sha256Hex } from '../../crypto/hash.ts'
import type { User } from '../../users/user.ts'
import type { AccessTokenClaims } from './access-token.ts'
import { recordId } from './protocol/store.ts'

/** Where a token comes from, as its `gid` says: a grant of the OAuth server, a browser session, or a personal token's row. */
export const sessionOrigin = (publicId: string): string => `session:${publicId}`
export const personalOrigin = 'personal'

/** The subject of a live token: a user, or a machine (null). */
interface Bearer {
  user: User | null
}

type Parts = Pick<FastifyInstance, 'lookups' | 'clock' | 'config'>

/**
 * Returns the subject of a live token: not revoked, with an existing client, enabled user and origin. Null otherwise.
 * Reads the database each time.
 */
export async function bearerOfLive(
  { lookups, clock, config }: Parts,
  isRegistered: (clientId: string) => boolean,
  claims: AccessTokenClaims,
): Promise<Bearer | null> {
  if (!isRegistered(claims.client_id)) return null
  const isMachine = claims.gty === 'client_credentials'
  const [isDenied, user, hasOrigin] = await Promise.all([
    isRevoked(claims.jti, claims.subject_jti),
    isMachine ? null : findUser(lookups, claims.sub),
    isMachine ? true : hasLiveOrigin(),
  ])
  if (isDenied || !hasOrigin) return null
  if (isMachine) return { user: null }
  return user && !user.disabled ? { user } : null

  /** Whether the token was revoked, or the one that it was exchanged for. */
  async function isRevoked(...jtis: (string | undefined)[]): Promise<boolean> {
    const found = await Promise.all(jtis.map((jti) => jti !== undefined && lookups.isDenied(sha256Hex(jti))))
    return found.includes(true)
  }

  async function hasLiveOrigin(): Promise<boolean> {
    const { gid, jti, sub } = claims
    if (gid === undefined) return false
    if (gid === personalOrigin) return lookups.hasPersonalToken(jti)
    if (gid.startsWith(sessionOrigin(''))) {
      const row = await lookups.sessionByPublicId(gid.slice(sessionOrigin('').length))
      return row !== null && isLive(row, clock.now(), config.current().session) && String(row.user?.id) === sub
    }
    const grant = await lookups.oauthRecord(recordId('Grant', gid))
    return grant !== null && (grant.expiresAt === null || grant.expiresAt > clock.now())
  }
}

const findUser = async (lookups: Parts['lookups'], sub: string): Promise<User | null> =>
  /^\d{1,16}$/.test(sub) ? lookups.user(BigInt(sub)) : null
