import Provider, { errors } from 'oidc-provider'
import { patch } from './patch.ts'

type Find = (id: string, options?: object) => Promise<unknown>

/**
 * Grants a pushed request once (RFC 9126 section 4). Several interactions can begin with one request, and the library
 * consumes it when the first one is granted. If the request is not found, the library grants without this check.
 */
export function requirePushedRequests(provider: Provider): void {
  const findOrReject = (find: Find) => async (id: string, options?: object) => {
    const found = await find(id, options)
    if (!found && Provider.ctx?.oidc.route === 'resume') {
      throw new errors.InvalidRequestUri('request_uri is invalid, expired, or was already used')
    }
    return found
  }
  patch(
    provider,
    ['PushedAuthorizationRequest', 'find'],
    'rejects an interaction whose pushed request no longer exists',
    findOrReject,
  )
}
