import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { AccessTokenClaims } from '../access-token.ts'
import { personalOrigin } from '../alive.ts'
import { chooseTarget, requestTargets, split } from './choose-target.ts'
import type { Registry } from './clients.ts'
import { issueToken } from './issued-token.ts'
import { resourceOf } from './targets.ts'

export interface ExchangeParts {
  registry: Registry
  /** Claims of a valid access token of svc; null for any other. */
  findLive(token: string): Promise<AccessTokenClaims | null>
}

const accessToken = 'urn:ietf:params:oauth:token-type:access_token'

/**
 * Token exchange (RFC 8693): a client exchanges a user's token of a client in its `exchange` list for a token of its
 * own. The new token has the scopes that both allow, and ends with the first token and its grant.
 */
export async function exchangeGrant(ctx: KoaContextWithOIDC, { registry, findLive }: ExchangeParts): Promise<void> {
  const { client, params = {} } = ctx.oidc
  const registered = registry.client(client?.clientId)
  // Otherwise an attacker with a stolen token could exchange it for one with more permissions (RFC 8693 section 5).
  if (!registered || registered.type === 'public') {
    throw new errors.UnauthorizedClient('Only confidential clients exchange tokens.')
  }
  checkTypes(params)
  const targets = registry.targets(registered.client_id)
  const resource = resourcesOf(params)
  const named = resource === undefined ? targets : requestTargets(targets, [], resource)

  const subject = await findLive(String(params.subject_token))
  if (!subject || !isExchangeable(subject, registered.exchange)) {
    throw new errors.InvalidRequest('subject_token is invalid')
  }
  const shared = split(subject.scope).filter((name) => registered.scopes.includes(name))
  const offered = shared.filter((name) => named.some(({ tokenScopes }) => tokenScopes.has(name)))
  const asked = params.scope === undefined ? offered : split(params.scope)
  const foreign = asked.find((name) => !shared.includes(name))
  if (foreign !== undefined) throw new errors.InvalidScope('requested scope is not allowed', foreign)

  const facts = {
    target: chooseTarget(targets, asked, resource),
    accountId: subject.sub,
    grantId: subject.gid,
    gty: 'token_exchange',
    scopes: asked,
    authentication: subject,
  }
  const issued = await issueToken(ctx, { ...facts, until: subject.exp, subjectJti: subject.jti })
  ctx.body = { ...issued, issued_token_type: accessToken, scope: asked.join(' ') || undefined }
}

function checkTypes(params: Record<string, unknown>): void {
  for (const name of ['subject_token', 'subject_token_type']) {
    if (params[name] === undefined) throw new errors.InvalidRequest(`missing required parameter '${name}'`)
  }
  const { subject_token_type, requested_token_type = accessToken, actor_token, actor_token_type } = params
  if (subject_token_type !== accessToken) throw new errors.InvalidRequest('subject_token_type is not supported')
  if (requested_token_type !== accessToken) throw new errors.InvalidRequest('requested_token_type is not supported')
  if (actor_token !== undefined || actor_token_type !== undefined) {
    throw new errors.InvalidRequest('actor tokens are not supported')
  }
}

/** Resources that the request names, also by their audience (RFC 8693 section 2.1). */
function resourcesOf({ audience, resource }: Record<string, unknown>): unknown {
  if (audience === undefined) return resource
  return [resource ?? [], resourceOf(String(audience))].flat()
}

/** Tests whether this is a user's token of a listed client, without a bound key or a row of its own. */
const isExchangeable = ({ client_id, gty, cnf, gid }: AccessTokenClaims, from: readonly string[]): boolean =>
  from.includes(client_id) && gty === undefined && cnf === undefined && gid !== personalOrigin
