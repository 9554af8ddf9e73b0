import Provider, { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { passwordGrant } from './password-grant.ts'
import { type ExchangeParts, exchangeGrant } from './token-exchange.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Registers the grants that the library does not have, and tells clients apart that may not use one. */
export function registerGrants(provider: Provider, parts: ExchangeParts): void {
  const { config, registry } = parts
  const add = (name: string, params: string[], grant: (ctx: KoaContextWithOIDC) => Promise<void>) =>
    provider.registerGrantType(name, grant, params, [])
  add('password', ['username', 'password', 'otp', 'scope'], (ctx) => passwordGrant(ctx, config, registry))
  add(
    'urn:ietf:params:oauth:grant-type:token-exchange',
    [
      'subject_token',
      'subject_token_type',
      'actor_token',
      'actor_token_type',
      'requested_token_type',
      'audience',
      'resource',
      'scope',
    ],
    (ctx) => exchangeGrant(ctx, parts),
  )

  const { prototype } = provider.Client
  const { grantTypeAllowed } = prototype
  // The library calls this an invalid request; it has an error of its own (RFC 6749 section 5.2).
  prototype.grantTypeAllowed = function refuseUnlisted(name: string) {
    const isAllowed = grantTypeAllowed.call(this, name)
    const { route, params } = Provider.ctx?.oidc ?? {}
    const isAsked =
      route === 'token' ? params?.grant_type === name : route === 'device_authorization' && name === deviceGrant
    if (isAllowed || !isAsked) return isAllowed
    throw new errors.UnauthorizedClient('The client may not use this grant.')
  }
}
