import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { Type } from 'typebox'
import type { RouteAccess } from '../../../access/access.ts'
import { addPages, pageAnswer } from '../../../plugins/pages/pages.ts'
import { noteHanded, signedInOf } from './browser.ts'
import { formOf, withDefaultScope } from './form.ts'
import { settleOrigin, withBody } from './handed-request.ts'
import { type ProtocolPath, protocolPaths, protocolRoutes } from './paths.ts'
import type { ProtocolHolder } from './provider.ts'

interface ProtocolOptions {
  holder: ProtocolHolder
}

/** The largest body of a protocol request, in bytes. */
const largestBody = 56 * 1024

const programs: RouteAccess = { family: 'none' }
const browsers: RouteAccess = { family: 'session', caller: 'guest', csrf: 'elsewhere' }

/** Hands the protocol paths over to the OAuth library: the one place where its requests begin. */
const protocol: FastifyPluginAsync<ProtocolOptions> = async (app, { holder }) => {
  await app.register(async (scope) => handOver(scope, holder, 'program'))
  await app.register(async (scope) => {
    await addPages(scope)
    await handOver(scope, holder, 'browser')
  })
}

async function handOver(scope: FastifyInstance, holder: ProtocolHolder, caller: ProtocolPath['caller']): Promise<void> {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: largestBody }, (_request, body, done) =>
    done(null, body),
  )
  if (caller === 'program') scope.setErrorHandler(refuseAsProtocol)
  for (const [path, { methods, summary, caller: by, answers }] of Object.entries(protocolPaths)) {
    if (by !== caller) continue
    scope.route({
      url: path,
      method: methods as HTTPMethods[],
      exposeHeadRoute: methods.includes('GET'),
      config: { access: by === 'program' ? programs : browsers },
      schema: {
        summary,
        response: {
          200:
            by === 'program'
              ? Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: answers })
              : pageAnswer(answers),
          400: Type.Unsafe<object>({
            type: 'object',
            additionalProperties: true,
            description: 'An error of the protocol: `{error, error_description}`.',
          }),
        },
      },
      handler: (request, reply) => answer(holder, request, reply),
    })
  }
}

/** What the framework refuses at a program's endpoint, in the protocol's words (RFC 6749 section 5.2). */
function refuseAsProtocol(
  error: Error & { statusCode?: number },
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const status = error.statusCode ?? 500
  if (status >= 500) request.log.error({ err: error }, 'the OAuth server failed')
  const body =
    status >= 500
      ? { error: 'temporarily_unavailable', error_description: 'Please try again.' }
      : { error: 'invalid_request', error_description: 'The request body cannot be read.' }
  return reply.code(status >= 500 ? 503 : 400).send(body)
}

async function answer(holder: ProtocolHolder, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { app, clients } = request.server.config.current()
  const { provider, registry } = await holder.current()
  const { raw } = request
  const isProgram = request.routeOptions.config.access?.family === 'none'
  settleOrigin(raw, app.url, request.ip)
  const form = Buffer.isBuffer(request.body) ? formOf(request.body, request.headers['content-type'], isProgram) : null
  const body = form && withDefaultScope(form, request, registry)
  const handed = body === null ? raw : withBody(raw, body)
  const facts = { request, reply, signedIn: isProgram ? null : signedInOf(request) }
  noteHanded(handed, facts)
  if (!isProgram) allowRedirect(request, reply, clients)
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    // The library decides how its own answers are kept.
    if (value !== undefined && name !== 'cache-control') reply.raw.setHeader(name, value)
  }
  await provider.callback()(handed, reply.raw)
}

/** Lets the forms of an authorization end at its redirect URI: browsers hold redirects after a form to the list of targets. */
function allowRedirect(
  request: FastifyRequest,
  reply: FastifyReply,
  clients: readonly { client_id: string; redirect_uris: readonly string[] }[],
): void {
  if (request.routeOptions.url !== protocolRoutes.authorization) return
  const query = new URLSearchParams(request.url.split('?')[1])
  const uri = query.get('redirect_uri')
  const client = clients.find(({ client_id }) => client_id === query.get('client_id'))
  if (uri === null || !client?.redirect_uris.includes(uri) || !URL.canParse(uri)) return
  const { origin, protocol } = new URL(uri)
  const policy = String(reply.getHeader('content-security-policy') ?? '')
  const target = origin === 'null' ? protocol : origin
  reply.header('content-security-policy', policy.replace('form-action', `form-action ${target}`))
}

export default protocol
