import Provider from 'oidc-provider'
import { checkGrantedResource, type GrantSource } from '../../clients/choose-target.ts'
import type { Registry } from '../../clients/clients.ts'
import { patch } from './patch.ts'

type Find = (value: string, options?: object) => Promise<FoundSource | undefined>

interface FoundSource extends GrantSource {
  isValid: boolean
  clientId?: string
}

/** Rejects a token request for its resource before the library uses up the code or the refresh token. */
export function checkResourcesFirst(provider: Provider, registry: Registry): void {
  for (const model of ['AuthorizationCode', 'DeviceCode', 'RefreshToken']) {
    const findChecked = (find: Find) => async (value: string, options?: object) => {
      const source = await find(value, options)
      const { ctx } = Provider
      const isTheirs = source?.isValid && source.clientId === ctx?.oidc.client?.clientId
      if (ctx?.oidc.route === 'token' && isTheirs) checkGrantedResource(ctx, registry, source)
      return source
    }
    patch(provider, [model, 'find'], 'checks the resource before the library uses up the code or token', findChecked)
  }
}
