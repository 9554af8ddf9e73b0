import type { FastifyInstance } from 'fastify'
import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { grants } from '../../../auth/access/abilities.ts'
import { isJwt } from '../../../auth/access/bearer-token.ts'
import { mustVerifyAddress } from '../../../auth/access/verified-address.ts'
import { abilitiesOf, noteUse, unexpiredToken } from '../../../auth/tokens/bearer.ts'
import type { User } from '../../../identity/user.ts'
import type { AccessTokenClaims } from '../access-token.ts'
import { apiTokenOrigin, type LiveToken, personalOrigin, subjectsOf } from '../alive.ts'
import { chooseTarget, requestTargets, resourceServer, splitScopes } from '../clients/choose-target.ts'
import { apiTokenSource, type RegisteredClient, type Registry } from '../clients/clients.ts'
import { servedScopes } from '../clients/scopes.ts'
import { resourceOf, type Target, type Targets } from '../clients/targets.ts'
import { actOf, DelegationRefused, delegable, delegableTargets, recordDelegation } from '../delegation/delegate.ts'
import { requestFactsOf } from './browser.ts'
import { issueToken } from './issued-token.ts'
import { decideToken } from './token-decision.ts'

export interface ExchangeParts {
  app: FastifyInstance
  registry: Registry
  /** Valid access token of svc; null for any other. */
  findLive(token: string): Promise<LiveToken | null>
}

/** Token that a client exchanges. */
interface Subject {
  user: User
  /** Claims of an access token; null for an API token. */
  claims: AccessTokenClaims | null
  /** Grant that the new token is revoked with. */
  grantId: string | undefined
  /** Latest expiry of the new token, in Unix seconds. */
  until: number
  /** `jti` of the access tokens that the new token is revoked with. */
  subjects: readonly string[]
  authentication: Pick<AccessTokenClaims, 'acr' | 'auth_time'>
  /** Tests whether the token has a scope. */
  has(scope: string): boolean
}

const accessToken = 'urn:ietf:params:oauth:token-type:access_token'

/** Maximum number of exchanges in a row. Each one adds a claim to the token, and a lookup for each use of it. */
const maxExchanges = 5

const invalidSubject = () => new errors.InvalidRequest('subject_token is invalid')

const refusedUser = (description: string) => new errors.CustomOIDCProviderError('invalid_grant', description)

/**
 * Token exchange (RFC 8693): a client exchanges a user's API token, or a user's token of a client in its `exchange`
 * list, for an access token of its own. The new token has the scopes that both allow, and ends with the first token and
 * its grant.
 */
export async function exchangeGrant(ctx: KoaContextWithOIDC, parts: ExchangeParts): Promise<void> {
  const { app, registry } = parts
  const { client, params = {} } = ctx.oidc
  const registered = registry.client(client?.clientId)
  // Otherwise an attacker with a stolen token could exchange it for one with more permissions (RFC 8693 section 5).
  if (!registered || registered.type === 'public') {
    throw new errors.UnauthorizedClient('Only confidential clients exchange tokens.')
  }
  const { workload } = requestFactsOf(ctx.req)
  if (workload?.isExchanged) return exchangeWorkload(ctx, parts)
  checkTypes(params)
  const targets = registry.targets(registered.client_id)
  const resource = resourcesOf(params, targets)
  const named = resource === undefined ? targets : requestTargets(targets, [], resource)

  const actor = await findActor(params, registered, parts)
  const subject = await findSubject(String(params.subject_token), registered, parts)
  // Also rejects a token that expires within this second.
  if (!subject || subject.until * 1000 <= app.clock.now()) throw invalidSubject()
  const { user, has, claims, ...facts } = subject
  if (user.disabled) throw refusedUser('The user is disabled.')
  if (mustVerifyAddress(app.config.current(), user)) {
    throw refusedUser("The user's email address is not verified.")
  }
  const rights = registered.may_act_for
  const common = registered.scopes.filter(has)
  const shared = rights ? delegable(common, rights) : common
  const offered = shared.filter((name) => named.some(({ tokenScopes }) => tokenScopes.has(name)))
  const asked = params.scope === undefined ? offered : splitScopes(params.scope)
  const foreign = asked.find((name) => !shared.includes(name))
  if (foreign !== undefined) throw new errors.InvalidScope('requested scope is not allowed', foreign)

  const target = chooseTarget(targets, asked, resource)
  await decideToken(ctx, { user, scopes: asked, audience: target.audience })
  const delegated = rights
    ? await delegate(ctx, { app, client: registered, rights, target, user, subject, actor, scopes: asked })
    : // The agents of the subject token stay in a token for another client, so that the user can end them.
      { act: claims?.act }
  const issued = await issueToken(ctx, {
    ...facts,
    ...delegated,
    target,
    accountId: String(user.id),
    gty: 'token_exchange',
    scopes: asked,
  })
  ctx.body = { ...issued, issued_token_type: accessToken, scope: asked.join(' ') || undefined }
}

interface Delegation {
  app: FastifyInstance
  client: RegisteredClient
  rights: NonNullable<RegisteredClient['may_act_for']>
  target: Target
  user: User
  subject: Subject
  actor: AccessTokenClaims | null
  scopes: readonly string[]
}

/** Facts of a token with which the client acts for the user. */
async function delegate(
  ctx: KoaContextWithOIDC,
  { app, client, rights, target, user, subject, actor, scopes }: Delegation,
) {
  if (delegableTargets([target], rights).length === 0) {
    throw new errors.InvalidTarget('The client may not act for users at this API.')
  }
  // A token without scopes would still prove to an API that the user is there.
  if (scopes.length === 0) throw new errors.InvalidScope('subject_token has no scope that the client may use', '')
  try {
    const act = actOf(client.client_id, subject.claims, actor)
    await recordDelegation(app, requestFactsOf(ctx.req).request, { user, client, scopes })
    const latest = Math.floor((Date.now() + rights.max_ttl) / 1000)
    const subjects = actor ? [...subject.subjects, actor.jti] : subject.subjects
    return { act, subjects, until: Math.min(subject.until, latest, actor?.exp ?? Number.POSITIVE_INFINITY) }
  } catch (error) {
    if (error instanceof DelegationRefused) throw refusedUser(error.message)
    throw error
  }
}

/** Token of the actor, which svc issued to the client; null without one. */
async function findActor(
  { actor_token, actor_token_type }: Record<string, unknown>,
  { client_id, may_act_for }: RegisteredClient,
  { findLive }: ExchangeParts,
): Promise<AccessTokenClaims | null> {
  if (actor_token === undefined && actor_token_type === undefined) return null
  if (!may_act_for) throw new errors.InvalidRequest('actor tokens are not supported')
  if (actor_token_type !== accessToken) throw new errors.InvalidRequest('actor_token_type is not supported')
  const live = typeof actor_token === 'string' && isJwt(actor_token) ? await findLive(actor_token) : null
  const { claims } = live ?? {}
  // A token of another client does not prove that this one may act in its name.
  if (claims?.client_id !== client_id || claims.cnf !== undefined || claims.act !== undefined) {
    throw new errors.InvalidRequest('actor_token is invalid')
  }
  return claims
}

/** Answers a workload that exchanges the token of its platform with a token of its client for one API. */
async function exchangeWorkload(ctx: KoaContextWithOIDC, { registry }: ExchangeParts): Promise<void> {
  const { client, params = {}, provider } = ctx.oidc
  if (!client) throw new errors.InvalidRequest('client_id is missing')
  checkRequested(params)
  checkNoActor(params)
  const targets = registry.targets(client.clientId)
  const resource = resourcesOf(params, targets)
  const asked = params.scope === undefined ? registry.apiScopes(client.clientId, resource) : splitScopes(params.scope)
  const target = chooseTarget(targets, asked, resource)
  const scopes = asked.filter((scope) => target.tokenScopes.has(scope))
  const info = resourceServer(target)
  const scope = scopes.join(' ') || undefined
  const token = new provider.ClientCredentials({ client, scope } as never)
  token.resourceServer = new provider.ResourceServer(target.resource, info) as never
  const access_token = await token.save()
  const expires_in = info.accessTokenTTL
  ctx.body = { access_token, expires_in, token_type: 'Bearer', issued_token_type: accessToken, scope }
}

/** The token to exchange; null if it is invalid, or if the client may not exchange it. */
async function findSubject(
  text: string,
  client: RegisteredClient,
  { app, findLive }: ExchangeParts,
): Promise<Subject | null> {
  if (isJwt(text)) {
    const live = await findLive(text)
    return live?.user && isExchangeable(live.claims, client.exchange) ? subjectOfJwt(live.claims, live.user) : null
  }
  const found = client.exchange.includes(apiTokenSource) ? await unexpiredToken(text, app) : null
  // The request proves no key, so a copied token would get an unbound one.
  if (!found || found.row.keyThumbprint !== null) return null
  const { row, user, expiresAt } = found
  if (!user.disabled) noteUse(app, row)
  const abilities = abilitiesOf(row, user, app.config.current())
  return {
    user,
    grantId: apiTokenOrigin(row.id),
    until: expiresAt === null ? Number.POSITIVE_INFINITY : Math.floor(expiresAt / 1000),
    subjects: [],
    claims: null,
    authentication: {},
    // Abilities are for APIs. Claims about the user need a sign-in with OpenID Connect.
    has: (scope) => !isServed(scope) && grants(abilities, scope),
  }
}

const isServed = (scope: string): boolean => servedScopes.some((served) => served === scope)

function subjectOfJwt(claims: AccessTokenClaims, user: User): Subject {
  const { gid, exp, jti, scope } = claims
  const subjects = [jti, ...subjectsOf(claims)]
  if (subjects.length > maxExchanges) {
    throw new errors.InvalidRequest(`subject_token is the result of ${maxExchanges} exchanges, which is the maximum`)
  }
  const scopes = splitScopes(scope)
  return {
    user,
    claims,
    grantId: gid,
    until: exp,
    subjects,
    authentication: claims,
    has: (name) => scopes.includes(name),
  }
}

function checkTypes(params: Record<string, unknown>): void {
  for (const name of ['subject_token', 'subject_token_type']) {
    if (params[name] === undefined) throw new errors.InvalidRequest(`missing required parameter '${name}'`)
  }
  if (params.subject_token_type !== accessToken) throw new errors.InvalidRequest('subject_token_type is not supported')
  checkRequested(params)
}

function checkRequested({ requested_token_type = accessToken }: Record<string, unknown>): void {
  if (requested_token_type !== accessToken) throw new errors.InvalidRequest('requested_token_type is not supported')
}

function checkNoActor({ actor_token, actor_token_type }: Record<string, unknown>): void {
  if (actor_token !== undefined || actor_token_type !== undefined) {
    throw new errors.InvalidRequest('actor tokens are not supported')
  }
}

/** Resources that the request names, also by their audience or the name of their API (RFC 8693 section 2.1). */
function resourcesOf({ audience, resource }: Record<string, unknown>, targets: Targets): unknown {
  if (audience === undefined) return resource
  const found = targets.find((one) => one.audience === audience) ?? targets.find(({ name }) => name === audience)
  return [resource ?? [], found?.resource ?? resourceOf(String(audience))].flat()
}

/** Tests whether this is a user's token of a listed client, not bound to a key and not stored as a row. */
const isExchangeable = ({ client_id, gty, cnf, gid }: AccessTokenClaims, from: readonly string[]): boolean =>
  from.includes(client_id) && gty === undefined && cnf === undefined && gid !== personalOrigin
