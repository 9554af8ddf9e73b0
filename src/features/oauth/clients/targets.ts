import type { Config } from '../../../platform/config/schema.ts'
import type { UserClaim } from '../../../platform/config/sections/user-claims.ts'
import type { Algorithm } from '../keys/jwk.ts'
import { identityScopes, servedScopes } from './scopes.ts'

/** API that an access token is for. Each token has one. */
export interface Target {
  /** Name in `apis`; null for the audience of the scopes that belong to no API. */
  name: string | null
  /** Resource indicator (RFC 8707). */
  resource: string
  audience: string
  /** Scopes of the API that the client lists. */
  scopes: readonly string[]
  /** All scopes of its tokens: those of the API, and those of OpenID Connect, because tokens also serve UserInfo. */
  tokenScopes: ReadonlySet<string>
  /** Lifetime of its tokens, in milliseconds. */
  ttl: number
  algorithm: Algorithm
  /** Claims about the user in its tokens. */
  claims: readonly UserClaim[]
}

/** A client's targets; the first one is for the scopes that belong to no API. */
export type Targets = readonly [Target, ...Target[]]

/** Resource indicator of an audience, which need not be a URI. */
export const resourceOf = (audience: string): string =>
  URL.canParse(audience) ? audience : `urn:svc:audience:${encodeURIComponent(audience)}`

const served: ReadonlySet<string> = new Set(servedScopes)

/** What the targets of a client depend on. */
interface TargetClient extends Pick<Config['clients'][number], 'scopes' | 'audience' | 'access_token_ttl'> {
  /** Scopes about the user that it can get. Default: those of every client. */
  identity?: readonly string[]
}

/** Targets of a client: its own audience, and each API with a scope that it lists. */
export function targetsOf(config: Config, client: TargetClient | undefined): Targets {
  const { oauth } = config
  const listed = client?.scopes ?? []
  const ttl = client?.access_token_ttl ?? oauth.access_token_ttl
  const identity = client?.identity ?? identityScopes(listed)
  const apis = Object.entries(config.apis).map(([name, api]): Target => {
    const scopes = listed.filter((scope) => api.scopes.includes(scope))
    return {
      name,
      resource: api.audience,
      audience: api.audience,
      scopes,
      tokenScopes: new Set([...identity, ...scopes]),
      ttl: api.token_ttl ?? ttl,
      algorithm: api.algorithm,
      claims: api.claims,
    }
  })
  const audience = client?.audience ?? oauth.audience
  const taken = new Set(apis.flatMap(({ scopes }) => scopes))
  const scopes = listed.filter((scope) => !taken.has(scope) && !served.has(scope))
  const own: Target = {
    name: null,
    resource: resourceOf(audience),
    audience,
    scopes,
    tokenScopes: new Set([...identity, ...scopes]),
    ttl,
    algorithm: oauth.access_token_alg,
    claims: oauth.access_token_claims,
  }
  return [own, ...apis.filter((api) => api.scopes.length > 0)]
}

/** All scopes that a client with these targets can get. */
export const scopesOfTargets = (targets: Targets): ReadonlySet<string> =>
  new Set(targets.flatMap(({ tokenScopes }) => [...tokenScopes]))

const hrefOf = (uri: string): string | undefined => URL.parse(uri)?.href.replace(/\/+$/, '')

/**
 * Resource indicators as the configuration spells them: clients often add a slash to `https://api.example.com/mcp`, or leave
 * one out. Other values remain as they are.
 */
export function settledResource(asked: unknown, targets: Targets): unknown {
  if (asked === undefined) return undefined
  const spellings = new Map(targets.map(({ resource }) => [hrefOf(resource), resource]))
  const settle = (one: unknown) => (typeof one === 'string' ? (spellings.get(hrefOf(one)) ?? one) : one)
  return Array.isArray(asked) ? [...new Set(asked.map(settle))] : settle(asked)
}

/** Targets that a request names. */
export const namedTargets = (targets: Targets, resources: unknown): Target[] => {
  const names = new Set([resources].flat())
  return targets.filter(({ resource }) => names.has(resource))
}

/**
 * Claims about the user in a token of a target. A token for an API gets them only with a scope of this API, because users
 * consent to its scopes.
 */
export const claimsFor = ({ name, scopes, claims }: Target, granted: ReadonlySet<string>): readonly UserClaim[] =>
  name === null || scopes.some((scope) => granted.has(scope)) ? claims : []
