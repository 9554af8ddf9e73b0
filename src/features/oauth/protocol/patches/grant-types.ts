import Provider, { errors } from 'oidc-provider'
import { patch } from './patch.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Returns `unauthorized_client` to a client that may not use a grant. */
export function rejectUnlistedGrants(provider: Provider): void {
  patch<(this: object, name: string) => boolean>(
    provider,
    ['Client.prototype', 'grantTypeAllowed'],
    'answers unauthorized_client, where the library answers invalid_request (RFC 6749 section 5.2)',
    (grantTypeAllowed) =>
      function rejectUnlisted(this: object, name: string) {
        const isAllowed = grantTypeAllowed.call(this, name)
        const { route, params } = Provider.ctx?.oidc ?? {}
        const isAsked =
          route === 'token' ? params?.grant_type === name : route === 'device_authorization' && name === deviceGrant
        if (isAllowed || !isAsked) return isAllowed
        throw new errors.UnauthorizedClient('The client may not use this grant.')
      },
  )
}
