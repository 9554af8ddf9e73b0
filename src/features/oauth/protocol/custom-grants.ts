import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import type { Config } from '../../../platform/config/schema.ts'
import { passwordGrant } from './password-grant.ts'
import { type ExchangeParts, exchangeGrant } from './token-exchange.ts'

type GrantParts = ExchangeParts & { config: Config }

/** Registers the grants that the library lacks. */
export function registerGrants(provider: Provider, parts: GrantParts): void {
  const { config, registry } = parts
  const add = (name: string, params: string[], grant: (ctx: KoaContextWithOIDC) => Promise<void>) =>
    provider.registerGrantType(name, grant, [...params, 'scope', 'resource'], ['resource'])
  add('password', ['username', 'password', 'otp'], (ctx) => passwordGrant(ctx, config, registry))
  add(
    'urn:ietf:params:oauth:grant-type:token-exchange',
    ['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type', 'requested_token_type', 'audience'],
    (ctx) => exchangeGrant(ctx, parts),
  )
}
