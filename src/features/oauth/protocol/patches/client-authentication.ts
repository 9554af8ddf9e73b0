import type { IncomingMessage } from 'node:http'
import Provider, { errors } from 'oidc-provider'
import { requestFactsOf } from '../browser.ts'
import type { SecretParts } from '../shortcuts/client-secret.ts'
import { patch, patchAnswer } from './patch.ts'

/** Endpoints where clients authenticate. */
const authenticating = new Set([
  'token',
  'introspection',
  'revocation',
  'pushed_authorization_request',
  'device_authorization',
])

const encodeFirst =
  'The client_id and client_secret in the Authorization header must be form-urlencoded before they are base64-encoded ' +
  '(RFC 6749 section 2.3.1): write + as %2B, % as %25 and : as %3A, or send them in the body.'

const basicForm = 'The Authorization header must be "Basic " and the base64 of client_id:client_secret.'

/** Unclear error descriptions of the library, and their replacements. */
const clearer: Readonly<Record<string, string>> = {
  'client_id and client_secret in the authorization header are not properly encoded': encodeFirst,
  'invalid authorization header value format': basicForm,
}

/** Tests for the right secret in HTTP Basic without the required encoding. */
function isSentRaw(authorization: string | undefined, isSecret: (text: string) => boolean): boolean {
  const [, encoded = ''] = /^basic (\S+)$/i.exec(authorization ?? '') ?? []
  const [, raw = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return /[+%]/.test(raw) && isSecret(raw)
}

/** Fields of a client that the comparison of its secret reads. */
interface Secret {
  clientId: string
}

/**
 * Compares client secrets with the stored hashes, accepts them only by the registered method, and limits failures (RFC
 * 6749 section 2.3.1).
 */
export function adaptClientAuthentication(provider: Provider, { registry, limits, secretUses }: SecretParts): void {
  const counted = new WeakSet<object>()

  const nameOf = ({ req }: { req: IncomingMessage }, clientId: string | undefined): string =>
    limits.nameOf(clientId, requestFactsOf(req).request.ip)

  async function compareHash(this: Secret, actual: string) {
    const { ctx } = Provider
    if (!ctx) throw new Error('A client secret was compared outside a request.')
    counted.add(ctx.req)
    if (requestFactsOf(ctx.req).workload?.clientId === this.clientId) return true
    const only = registry.client(this.clientId)?.token_endpoint_auth_method
    const used = ctx.headers.authorization === undefined ? 'client_secret_post' : 'client_secret_basic'
    const index = registry.secretIndex(this.clientId, actual)
    const isRight = index !== null && (!only || only === used)
    const isAccepted = await limits.attempt(nameOf(ctx, this.clientId), isRight)
    if (isAccepted && index !== null) secretUses.note(registry, this.clientId, index)
    const isSecret = (text: string) => registry.secretIndex(this.clientId, text) !== null
    if (!isAccepted && isSentRaw(ctx.headers.authorization, isSecret)) {
      throw Object.assign(new errors.InvalidClientAuth('the secret was not encoded'), {
        error_description: encodeFirst,
      })
    }
    return isAccepted
  }
  patch(
    provider,
    ['Client.prototype', 'compareClientSecret'],
    'compares hashes, allows only the registered method, and limits failures',
    () => compareHash,
  )

  const findLimited = (find: Provider['Client']['find']) => async (id: string) => {
    const { ctx } = Provider
    const client = await find(id).catch((error: unknown) => {
      // A sign-out ends the session of every client, also of one whose document the library no longer accepts.
      const isRejected = error instanceof errors.InvalidClient || error instanceof errors.InvalidClientMetadata
      if (isRejected && registry.isDocument(id) && ctx?.oidc.route.startsWith('end_session')) return undefined
      throw error
    })
    if (ctx && authenticating.has(ctx.oidc.route) && !ctx.oidc.client) {
      await limits.check(nameOf(ctx, client?.clientId))
    }
    return client
  }
  patch(provider, ['Client', 'find'], 'limits failures before a client authenticates', findLimited)

  patchAnswer(provider, 'clearer-errors', 'says what is wrong with the Authorization header', async (ctx, next) => {
    await next()
    const { body }: { body?: unknown } = ctx
    if (typeof body !== 'object' || body === null || !('error_description' in body)) return
    body.error_description = clearer[String(body.error_description)] ?? body.error_description
  })

  // Other failures: an unknown client, an invalid assertion, or a method that is not the registered one.
  patchAnswer(provider, 'client-failures', 'counts failed client authentications', async (ctx, next) => {
    await next()
    if (ctx.status !== 401 || !authenticating.has(ctx.oidc?.route ?? '') || counted.has(ctx.req)) return
    const name = nameOf(ctx, ctx.oidc.client?.clientId)
    await limits.attempt(name, false)
  })
}
