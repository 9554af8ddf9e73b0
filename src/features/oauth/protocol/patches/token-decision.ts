import Provider from 'oidc-provider'
import type { Lookups } from '../../../../auth/access/lookups/lookups.ts'
import type { Config } from '../../../../platform/config/schema.ts'
import { type GrantSource, grantedAudience } from '../../clients/choose-target.ts'
import type { Registry } from '../../clients/clients.ts'
import { decideToken } from '../token-decision.ts'
import { patch } from './patch.ts'

/** Code or refresh token, before the library uses it up. */
interface Source extends GrantSource {
  accountId?: string
  /** Why the user refused a device. */
  error?: string
}

interface DecisionParts {
  config: Pick<Config, 'hooks'>
  registry: Registry
  lookups: Pick<Lookups, 'user'>
}

/**
 * Asks the hook before_token after the checks of the code or refresh token, and before the library uses it up, so that the
 * client can try again.
 */
export function decideBeforeUse(provider: Provider, { config, registry, lookups }: DecisionParts): void {
  async function decide(source: Source): Promise<void> {
    const { ctx } = Provider
    if (!config.hooks.before_token || ctx?.oidc.route !== 'token' || !source.accountId || source.error) return
    const user = await lookups.user(BigInt(source.accountId))
    // The library refuses them.
    if (!user || user.disabled) return
    const scopes = ctx.oidc.params?.scope ? ctx.oidc.requestParamScopes : source.scopes
    await decideToken(ctx, { user, scopes, audience: grantedAudience(ctx, registry, source) })
  }
  for (const model of ['AuthorizationCode', 'DeviceCode', 'RefreshToken']) {
    patch<(this: Source) => Promise<void>>(
      provider,
      [`${model}.prototype`, 'consume'],
      'asks the hook before_token before the code or token is used up',
      (consume) =>
        async function decideAndConsume(this: Source) {
          await decide(this)
          return consume.call(this)
        },
    )
  }
}
