import type { FastifyRequest } from 'fastify'
import type { OauthRecordRow } from '../../../../auth/access/lookups/lookups.ts'
import type { User } from '../../../../identity/user.ts'
import type { Config } from '../../../../platform/config/schema.ts'
import type { AccessTokenClaims } from '../../access-token.ts'
import type { LiveToken } from '../../alive.ts'
import { claimsOf } from '../../clients/claims.ts'
import type { Registry } from '../../clients/clients.ts'
import type { RecordSeal } from '../../records/record-seal.ts'
import { protocolRoutes } from '../paths.ts'
import { usualGrant } from './usual-grant.ts'

export interface UserInfoParts {
  config: Config
  registry: Registry
  seal: RecordSeal
  /** Valid access token of svc with the record of its grant; null for any other. */
  findLiveWithGrant(token: string): Promise<LiveToken | null>
}

/** Headers that the library interprets: a request with one of them is not in the usual form. */
const unusual = ['dpop', 'origin', 'content-type', 'content-length', 'transfer-encoding']

const bearer = /^bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i

/**
 * Answers UserInfo requests in the usual form (OpenID Connect Core section 5.3): a GET with a bearer token of a grant that
 * names no individual claims. It never rejects a request: the library handles every request that this class does not
 * answer. The library takes several times as long, and reads user and grant a second time.
 */
export class UserInfo {
  readonly #parts: UserInfoParts

  constructor(parts: UserInfoParts) {
    this.#parts = parts
  }

  /** Returns the response, or null for a request that the library must decide. */
  async answer(request: FastifyRequest): Promise<object | null> {
    const token = tokenOf(request)
    if (token === null) return null
    // If the lookup fails, the library repeats it and returns the error.
    const live = await this.#parts.findLiveWithGrant(token).catch(() => null)
    if (!live?.user || !live.grant || live.claims.cnf) return null
    return this.#claims(live.claims, live.user, live.grant)
  }

  #claims(claims: AccessTokenClaims, user: User, record: OauthRecordRow): object | null {
    const { config, registry } = this.#parts
    const asked = new Set(claims.scope?.split(' '))
    if (!registry.has(claims.client_id) || !asked.has('openid')) return null
    const granted = usualGrant(record, this.#parts.seal, claims)?.openid?.scope
    if (granted === undefined) return null
    const scopes = granted.split(' ').filter((scope) => asked.has(scope))
    const all: Record<string, unknown> = claimsOf(user, config, registry, claims.client_id)
    return Object.fromEntries(
      scopes.flatMap((scope) => registry.claimsByScope[scope] ?? []).map((name) => [name, all[name]]),
    )
  }
}

/** Token of a request in the usual form. */
function tokenOf({ method, url, headers }: FastifyRequest): string | null {
  if (method !== 'GET' || url !== protocolRoutes.userinfo) return null
  if (unusual.some((name) => headers[name] !== undefined)) return null
  return bearer.exec(headers.authorization ?? '')?.[1] ?? null
}
