import { errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider'
import type { Registry } from './clients.ts'
import { namedTargets, scopesOfTargets, type Target, type Targets } from './targets.ts'

/** Code or refresh token, as the library has read it. */
export interface GrantSource {
  scopes: ReadonlySet<string>
  resource?: string | string[] | undefined
}

const maxShown = 200

/** Text within an `error_description`, which allows only some characters (RFC 6749 section 5.2). */
const shown = (text: string): string => text.slice(0, maxShown).replace(/[^\x20\x21\x23-\x5B\x5D-\x7E]/g, '?')

/** Splits a `scope` parameter at spaces. */
export const splitScopes = (scope: unknown): string[] =>
  typeof scope === 'string' ? [...new Set(scope.split(' ').filter((name) => name !== ''))] : []

/** Throws `invalid_scope` for a scope that the client does not list. */
function refuseForeignScopes(scopes: readonly string[], targets: Targets): void {
  const known = scopesOfTargets(targets)
  const foreign = scopes.find((name) => !known.has(name))
  if (foreign !== undefined) throw new errors.InvalidScope('requested scope is not allowed', foreign)
}

function find(targets: Targets, resource: string): Target {
  const target = targets.find((one) => one.resource === resource)
  if (target) return target
  const [name = ''] = resource.split(/[?#]/)
  throw new errors.InvalidTarget(`The resource ${shown(name)} is unknown, or the client lists none of its scopes.`)
}

const ownersOf = (scopes: readonly string[], targets: readonly Target[]): Target[] =>
  targets.filter((target) => target.scopes.some((scope) => scopes.includes(scope)))

/** The target to which all scopes belong; null if none belongs to any. Throws `invalid_target` if there are several. */
function ownerOf(scopes: readonly string[], targets: readonly Target[]): Target | null {
  const [target = null, ...others] = ownersOf(scopes, targets)
  if (others.length === 0) return target
  const names = scopes.filter((scope) => ownersOf([scope], targets).length > 0)
  throw new errors.InvalidTarget(
    `The scopes ${shown(names.join(' '))} belong to different APIs. Send the scopes of one API, or a resource for each.`,
  )
}

/** Throws `invalid_target` if a scope belongs to an API that the request does not name. */
function refuseStrayScopes(scopes: readonly string[], targets: Targets, named: readonly Target[]): void {
  const stray = ownersOf(scopes, targets).find((target) => !named.includes(target))
  if (!stray) return
  const names = scopes.filter((scope) => stray.scopes.includes(scope))
  throw new errors.InvalidTarget(
    `The request has scopes of ${shown(stray.resource)} (${shown(names.join(' '))}), but does not name it as resource.`,
  )
}

/**
 * Targets of a request: those that it names, otherwise the one of its scopes. Throws `invalid_target` for an unknown
 * resource and for scopes of an API that is not a target, and `invalid_scope` for scopes that the client does not list.
 */
export function requestTargets(targets: Targets, scopes: readonly string[], resource: unknown): [Target, ...Target[]] {
  const resources = [resource ?? []].flat().map(String)
  const [first, ...others] = new Set(resources.map((one) => find(targets, one)))
  refuseForeignScopes(scopes, targets)
  if (!first) return [ownerOf(scopes, targets) ?? targets[0]]
  refuseStrayScopes(scopes, targets, [first, ...others])
  return [first, ...others]
}

/** The one target of a token. If the request names several, its scopes choose among them. */
export function chooseTarget(targets: Targets, scopes: readonly string[], resource: unknown): Target {
  const named = requestTargets(targets, scopes, resource)
  if (named.length === 1) return named[0]
  const [target, ...others] = ownersOf(scopes, named)
  if (target && others.length === 0) return target
  const names = named.map((one) => one.resource).join(' ')
  throw new errors.InvalidTarget(`A token is for one API. Send one resource of ${shown(names)}.`)
}

/** Whole seconds of a lifetime in milliseconds; at least one. */
export const secondsOf = (milliseconds: number): number => Math.max(1, Math.floor(milliseconds / 1000))

/** The library's settings for the tokens of a target. */
export const resourceServer = ({ audience, tokenScopes, ttl, algorithm }: Target): ResourceServer => ({
  scope: [...tokenScopes].join(' '),
  audience,
  accessTokenFormat: 'jwt',
  accessTokenTTL: secondsOf(ttl),
  jwt: { sign: { alg: algorithm } },
})

const scopesOf = ({ oidc }: KoaContextWithOIDC): string[] => splitScopes(oidc.params?.scope)

/** Returns the resource of a token: from the request, otherwise from the grant. */
function resourceFor(ctx: KoaContextWithOIDC, targets: Targets, granted: readonly string[]): string {
  const { resource } = ctx.oidc.params ?? {}
  if (resource !== undefined) return chooseTarget(targets, scopesOf(ctx), resource).resource
  // An API may have been removed since the grant.
  const known = granted.filter((one) => namedTargets(targets, one).length > 0)
  return chooseTarget(targets, scopesOf(ctx), known.length > 0 ? known : granted).resource
}

/**
 * Throws `invalid_target` if a token request would fail for its resource. The library checks the resource only after it has
 * used up the code or the refresh token. It checks the scopes of a refresh before.
 */
export function checkGrantedResource(ctx: KoaContextWithOIDC, registry: Registry, source: GrantSource): void {
  const granted = [source.resource ?? []].flat()
  if (granted.length === 0 || scopesOf(ctx).some((scope) => !source.scopes.has(scope))) return
  const resource = resourceFor(ctx, registry.targets(ctx.oidc.client?.clientId), granted)
  if (!granted.includes(resource))
    throw new errors.InvalidTarget(`The grant does not include the resource ${shown(resource)}.`)
}

/** Returns the audience of the access token that a request gets for a code or refresh token. */
export function grantedAudience(ctx: KoaContextWithOIDC, registry: Registry, source: GrantSource): string {
  const targets = registry.targets(ctx.oidc.client?.clientId)
  return find(targets, resourceFor(ctx, targets, [source.resource ?? []].flat())).audience
}

/** Routes that ask the user for consent. */
const asksUser: ReadonlySet<string> = new Set(['authorization', 'device_authorization', 'pushed_authorization_request'])

/** Throws `invalid_target` for an API without one of its scopes: users consent to scopes, so they would not see the API. */
function refuseWithoutScope({ name, resource, scopes }: Target, requested: readonly string[]): void {
  if (name === null || scopes.some((scope) => requested.includes(scope))) return
  throw new errors.InvalidTarget(`The request names the resource ${shown(resource)}, but none of its scopes.`)
}

/** Resource indicators for the library, from the registry. */
export function resourceIndicators(registry: Registry) {
  return {
    enabled: true,
    useGrantedResource: () => true,
    /** Also chooses among the resources of a token request, or of the grant that it uses. */
    defaultResource: (ctx: KoaContextWithOIDC, { clientId }: { clientId: string }, several?: readonly string[]) =>
      resourceFor(ctx, registry.targets(clientId), several ?? []),
    getResourceServerInfo: (ctx: KoaContextWithOIDC, resource: string, { clientId }: { clientId: string }) => {
      const targets = registry.targets(clientId)
      requestTargets(targets, scopesOf(ctx), ctx.oidc.params?.resource ?? resource)
      const target = find(targets, resource)
      if (asksUser.has(ctx.oidc.route)) refuseWithoutScope(target, scopesOf(ctx))
      return resourceServer(target)
    },
  }
}
