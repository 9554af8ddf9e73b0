import type { FastifyRequest } from 'fastify'
import type { JWTPayload } from 'jose'
import { RecentMap } from '../../../../platform/cache.ts'
import type { Config } from '../../../../platform/config/schema.ts'
import { randomId } from '../../../../platform/crypto/random.ts'
import type { Metrics } from '../../../../platform/observability/metrics/metrics.ts'
import { chooseTarget, secondsOf, splitScopes } from '../../clients/choose-target.ts'
import { isScopeList, knownScopes } from '../../clients/scopes.ts'
import { settledResource, type Target } from '../../clients/targets.ts'
import type { Algorithm } from '../../keys/jwk.ts'
import type { StatusLists } from '../../status-lists/status-lists.ts'
import { statusOf } from '../../status-lists/status-of.ts'
import { granted, recordTokens } from '../recorded-tokens.ts'
import { clientBySecret, type SecretParts } from './client-secret.ts'
import { usualForm } from './usual-form.ts'

interface ClientCredentialsParts extends SecretParts {
  config: Config
  statusLists: StatusLists
  metrics: Metrics | null
  sign(claims: JWTPayload, algorithm: Algorithm): Promise<string>
}

/** Decision about a request: the token to issue. */
interface MachineGrant {
  target: Target
  scopes: readonly string[]
}

const gty = 'client_credentials'

/** Maximum number of cached decisions, and maximum length of the parameters that are the key. */
const maxGrants = 1_000
const maxAsked = 500

const usual = new Map([[gty, ['client_id', 'client_secret', 'scope', 'resource']]])

/**
 * Issues tokens to clients that authenticate by their secret and ask in the usual form (RFC 6749 section 4.4). It never
 * rejects a request: the library handles every request that this class does not answer. The library takes several times
 * as long.
 */
export class ClientCredentials {
  readonly #parts: ClientCredentialsParts
  readonly #known: ReadonlySet<string>
  /** Cached decisions about recent requests: a machine sends the same parameters each time. */
  readonly #grants = new RecentMap<MachineGrant>(maxGrants)

  constructor(parts: ClientCredentialsParts) {
    this.#parts = parts
    this.#known = knownScopes(parts.config)
  }

  /** Returns the response, or null for a request that the library must decide. */
  async answer(request: FastifyRequest, form: string): Promise<object | null> {
    if (this.#parts.config.hooks.before_token) return null
    const fields = usualForm(request.headers, form, usual)
    if (!fields) return null
    const authenticated = clientBySecret(request, fields, this.#parts)
    const { client, noteUse } = authenticated ?? {}
    if (!client?.grants.includes(gty) || client.dpop || client.fapi) return null
    const { client_id } = client
    const grant = this.#grantOf(client_id, fields)
    if (!grant) return null
    noteUse?.()
    const answer = await this.#issue(client_id, grant)
    const isAsked = fields.has('scope')
    recordTokens(request.server, () => ({
      ...{ endpoint: 'token', clientId: client_id, grant: gty, isAsked, verdict: granted },
      scopes: isAsked ? splitScopes(fields.get('scope')) : grant.scopes,
      resources: fields.getAll('resource'),
    }))
    return answer
  }

  #grantOf(clientId: string, fields: URLSearchParams): MachineGrant | null {
    const asked = JSON.stringify([clientId, fields.get('scope'), fields.get('resource')])
    const known = this.#grants.get(asked)
    if (known) return known
    const grant = this.#settle(clientId, fields)
    if (grant && asked.length <= maxAsked) this.#grants.add(asked, grant)
    return grant
  }

  #settle(clientId: string, fields: URLSearchParams): MachineGrant | null {
    const { registry } = this.#parts
    const targets = registry.targets(clientId)
    const resource = settledResource(fields.get('resource') ?? undefined, targets)
    const asked = fields.get('scope')
    if (asked !== null && !isScopeList(asked)) return null
    const all = asked === null ? registry.apiScopes(clientId, resource) : splitScopes(asked)
    const scopes = all.filter((scope) => this.#known.has(scope))
    try {
      const target = chooseTarget(targets, scopes, resource)
      return { target, scopes: scopes.filter((scope) => target.tokenScopes.has(scope)) }
    } catch {
      return null
    }
  }

  async #issue(clientId: string, { target, scopes }: MachineGrant): Promise<object> {
    const { config, statusLists, metrics, sign } = this.#parts
    const { audience, algorithm, ttl } = target
    const expires_in = secondsOf(ttl)
    const iat = Math.floor(Date.now() / 1000)
    const times = { iat, exp: iat + expires_in }
    const jti = randomId()
    const scope = scopes.join(' ') || undefined
    const status = await statusOf(statusLists, { jti, ...times, clientId, resourceServer: { audience } }, { gty })
    const own = { scopes, gty, ...status }
    const standard = { jti, sub: clientId, ...times, scope, client_id: clientId, iss: config.app.url, aud: audience }
    const access_token = await sign({ ...own, ...standard }, algorithm)
    metrics?.token('access_token', gty)
    return { access_token, expires_in, scope, token_type: 'Bearer' }
  }
}
