import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { HttpError } from '../../platform/errors.ts'
import { AddressRanges } from '../../platform/http/addresses.ts'
import { clientAddress } from '../../platform/http/client-address.ts'
import { answerOf } from '../../platform/http/error-handler.ts'
import { type Static, Type } from '../../platform/json-schema.ts'
import { callerHeaders } from './caller-headers.ts'
import { refuseRuleOfClient, type Verdict } from './decision.ts'
import { type OriginalRequest, originalRequest, untrustedPeer } from './original-request.ts'
import { PhantomTokens } from './phantom-tokens.ts'
import { decideAndRecord } from './recorded-decision.ts'
import { signInLocation } from './sign-in-location.ts'

const methods: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const Query = Type.Object({
  rule: Type.Optional(
    Type.String({ description: 'The name of the rule to apply, instead of the first that matches.' }),
  ),
  redirect: Type.Optional(
    Type.Literal('401', {
      description: 'Sends the location of the sign-in page with 401, for proxies that pass on 401 and 403 only.',
    }),
  ),
})

/** Error statuses that the guard answers about the original request. */
const refusals = [400, 401, 403, 419, 422, 423, 503]

/** The guard for services behind the same proxy (forward authentication). */
const forwardAuth: FastifyPluginAsyncTypebox = async (app) => {
  const phantoms = new PhantomTokens(app)
  const proxies = new AddressRanges(app.config.current().server.trust_proxy)
  // Proxies send the headers of the original request, sometimes with its length, but never the body.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(null)
  })

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    path: string | null,
    query: Static<typeof Query>,
  ) {
    const config = app.config.current()
    const peer = clientAddress({ ip: request.socket.remoteAddress ?? '' })
    let original: OriginalRequest | null = null
    let found: Verdict
    try {
      if (!proxies.has(peer)) throw untrustedPeer(peer)
      original = originalRequest(request, path)
      refuseRuleOfClient(original, query.rule)
      const readSession = () => app.sessions.read(request, reply)
      found = await decideAndRecord(request, { original, readSession, ruleName: query.rule })
    } catch (error) {
      const refusal = answerOf(error as Error, request)
      const location = original && signInLocation(original, request, refusal, config)
      const isForNginx = query.redirect === '401'
      if (location && !isForNginx) return reply.redirect(location, 302)
      if (!isForNginx) throw refusal
      throw forNginx(refusal, location)
    }
    const { caller, api } = found
    const token = caller && api ? await phantoms.tokenFor(caller, api) : null
    if (token !== null) reply.header('authorization', `Bearer ${token}`)
    return reply.headers(callerHeaders(caller, config)).code(200).send()
  }

  for (const prefix of app.config.current().compat.prefixes) {
    for (const method of methods) {
      const isDescribed = prefix === 'svc' && method === 'GET' && app.config.current().guard.port === null
      const config = {
        access: { family: 'none' as const },
        crossOrigin: 'elsewhere' as const,
        alsoAnswers: refusals,
        errorPages: false as const,
      }
      app.route({
        method,
        url: `/${prefix}/guard`,
        exposeHeadRoute: false,
        config,
        schema: isDescribed ? described : { hide: true, querystring: Query },
        handler: (request, reply) => answer(request, reply, null, request.query as Static<typeof Query>),
      })
      app.route({
        method,
        url: `/${prefix}/guard/*`,
        exposeHeadRoute: false,
        config,
        schema: { hide: true },
        handler: (request, reply) => {
          const uri = (request.raw.url ?? '').slice(`/${prefix}/guard`.length)
          return answer(request, reply, uri, {})
        },
      })
    }
  }
}

const described = {
  operationId: 'checkForwardedRequest',
  tags: ['Guard'],
  summary: 'Decide about a request to another service',
  description:
    'For proxies: nginx auth_request, Traefik ForwardAuth, Caddy forward_auth and others. Every method gets the same answer. The original request comes from `X-Forwarded-Method`, `X-Forwarded-Proto`, `X-Forwarded-Host` and `X-Forwarded-Uri`, or from `X-Original-Method` and `X-Original-URL`.',
  querystring: Query,
  response: {
    200: Type.Null({ description: 'The request may pass. The headers describe the caller.' }),
    302: Type.Null({ description: 'A browser navigation must sign in first.' }),
  },
}

/** Converts a rejection for nginx, which passes on 401 and 403 only. */
function forNginx(refusal: HttpError, location: string | null): HttpError {
  const { statusCode, code, message, headers, errors } = refusal
  const shared = { headers: { ...headers, 'svc-error': code }, ...(errors ? { errors } : {}) }
  if (location) return new HttpError(401, code, message, { ...shared, headers: { ...shared.headers, location } })
  return new HttpError(statusCode < 500 && statusCode !== 401 ? 403 : statusCode, code, message, shared)
}

export default forwardAuth
