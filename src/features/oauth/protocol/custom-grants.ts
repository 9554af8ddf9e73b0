import type Provider from 'oidc-provider'
import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Config } from '../../../config/schema.ts'
import { authenticate } from '../../../login/authenticate.ts'
import { audienceOf, resourceOf } from './audience.ts'
import { handedOf } from './browser.ts'
import type { Registry } from './clients.ts'
import { grantScopes, newGrant } from './grants.ts'
import { resourceServer } from './scopes.ts'

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000)

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Registers the grants that the library does not have. */
export function registerGrants(provider: Provider, config: Config, registry: Registry): void {
  provider.registerGrantType(
    'password',
    (ctx) => passwordGrant(ctx, config, registry),
    ['username', 'password', 'otp', 'scope'],
    [],
  )
}

/**
 * Resource owner password credentials (RFC 6749 section 4.3), for clients that list it: the same check, limits and
 * equal time as every other door. A user with a second factor sends `otp` too.
 */
async function passwordGrant(ctx: KoaContextWithOIDC, config: Config, registry: Registry): Promise<void> {
  const { provider, client, params } = ctx.oidc
  if (!client) throw new errors.InvalidClient('client is invalid')
  const registered = registry.client(client.clientId)
  const [username, password, otp] = [text(params?.username), text(params?.password), text(params?.otp)]
  if (username === '' || password === '') throw new errors.InvalidRequest('username and password are required')
  const scopes = (text(params?.scope) || registry.defaultScope(client.clientId))
    .split(' ')
    .filter((name) => name !== '')
  const foreign = scopes.find((name) => !resourceScopes(config, registry, client.clientId).has(name))
  if (foreign !== undefined) throw new errors.InvalidScope('requested scope is not allowed', foreign)

  const { request } = handedOf(ctx.req)
  const found = await authenticate(request, { email: username, password, door: 'password_grant' })
  const refused = new errors.InvalidGrant('The user credentials were incorrect.')
  if (!found) throw refused
  const { user } = found
  if (config.registration.require_verified_email && user.email_verified_at === null) throw refused
  const { secondFactor } = request.server
  if (secondFactor.isAskedOf(user) && !(await secondFactor.check(request, user, { code: otp }, 'password_grant'))) {
    throw refused
  }

  const accountId = String(user.id)
  const grant = newGrant(provider, accountId, client.clientId)
  grantScopes(grant, scopes, audienceOf(config, registered))
  const grantId = await grant.save()
  const { AccessToken, RefreshToken, ResourceServer } = provider
  const resource = resourceOf(audienceOf(config, registered))
  const info = resourceServer(config, registered, registered?.scopes ?? [])
  const access = new AccessToken({ accountId, client, grantId, gty: 'password', scope: scopes.join(' ') } as never)
  access.resourceServer = new ResourceServer(resource, info) as never
  const authTime = seconds(request.server.clock.now())
  const refresh = client.grantTypeAllowed('refresh_token')
    ? await new RefreshToken({
        accountId,
        client,
        grantId,
        gty: 'password',
        scope: scopes.join(' '),
        resource,
        authTime,
        rotations: 0,
      } as never).save()
    : undefined
  ctx.body = {
    access_token: await access.save(),
    expires_in: access.expiration,
    refresh_token: refresh,
    scope: scopes.join(' '),
    token_type: access.tokenType,
  }
}

const resourceScopes = (config: Config, registry: Registry, clientId: string): Set<string> =>
  new Set(resourceServer(config, registry.client(clientId), registry.client(clientId)?.scopes ?? []).scope.split(' '))
