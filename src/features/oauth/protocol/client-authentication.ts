import type { IncomingMessage } from 'node:http'
import Provider from 'oidc-provider'
import { constantTimeEqual } from '../../../crypto/hash.ts'
import { handedOf } from './browser.ts'
import type { ClientLimits } from './client-limits.ts'
import { type Registry, secretHash } from './clients.ts'

/** Where clients authenticate. */
const authenticating = new Set([
  'token',
  'introspection',
  'revocation',
  'pushed_authorization_request',
  'device_authorization',
])

interface Parts {
  registry: Registry
  limits: ClientLimits
}

/**
 * Compares client secrets as the registry holds them, takes them only the way that the client is registered for, and
 * limits failures (RFC 6749 section 2.3.1).
 */
export function adaptClientAuthentication(provider: Provider, { registry, limits }: Parts): void {
  const { Client } = provider
  if (typeof Client.prototype.compareClientSecret !== 'function')
    throw new Error('The OAuth library compares secrets elsewhere.')
  const counted = new WeakSet<object>()

  const nameOf = ({ req }: { req: IncomingMessage }, clientId: string | undefined): string =>
    limits.nameOf(clientId, handedOf(req).request.ip)

  Client.prototype.compareClientSecret = async function compareHash(actual: string) {
    const { ctx } = Provider
    if (!ctx) throw new Error('A client secret was compared outside a request.')
    const only = registry.client(this.clientId)?.token_endpoint_auth_method
    const used = ctx.headers.authorization === undefined ? 'client_secret_post' : 'client_secret_basic'
    const isRight = constantTimeEqual(String(this.clientSecret), secretHash(actual)) && (!only || only === used)
    counted.add(ctx.req)
    return limits.attempt(nameOf(ctx, this.clientId), isRight)
  }

  const find = Client.find.bind(Client)
  Client.find = async (id: string) => {
    const client = await find(id)
    const { ctx } = Provider
    if (ctx && authenticating.has(ctx.oidc.route) && !ctx.oidc.client) {
      await limits.check(nameOf(ctx, client?.clientId))
    }
    return client
  }

  // What failed otherwise: an unknown client, a bad assertion, another way than the registered one.
  provider.use(async (ctx, next) => {
    await next()
    if (ctx.status !== 401 || !authenticating.has(ctx.oidc?.route ?? '') || counted.has(ctx.req)) return
    const name = nameOf(ctx, ctx.oidc.client?.clientId)
    await limits.attempt(name, false)
  })
}
