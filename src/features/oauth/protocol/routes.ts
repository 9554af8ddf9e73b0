import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { isCrossSite } from '../../../auth/access/cross-site.ts'
import type { RouteAccess } from '../../../auth/access/route-access.ts'
import { addPages } from '../../../pages/pages.ts'
import { HttpError, notFound } from '../../../platform/errors.ts'
import { clientAddress } from '../../../platform/http/client-address.ts'
import { answerOf } from '../../../platform/http/error-handler.ts'
import { varyBy } from '../../../platform/http/vary.ts'
import { limitHeaderNames } from '../../../platform/limits/too-many-requests.ts'
import type { Registry } from '../clients/clients.ts'
import { publicClientOf, withClientId } from '../clients/empty-secret.ts'
import { authenticateWorkload, withWorkload } from '../workloads/authenticate.ts'
import { type AskedTokens, setRequestFacts, signedInOf } from './browser.ts'
import { describe } from './description.ts'
import { formOf } from './form.ts'
import { maxIntrospectionSize, readIntrospection } from './introspection/request.ts'
import { replaceBody, setOrigin } from './library-request.ts'
import type { OAuthServer, Protocol } from './oauth-server.ts'
import { isSeen, protocolError } from './patches/failures.ts'
import { protocolPaths, protocolRoutes } from './paths.ts'
import { clientBySecret } from './shortcuts/client-secret.ts'
import { takes } from './shortcuts/shortcuts.ts'

/** The maximum body size of a protocol request, in bytes. */
const maxBodySize = 56 * 1024

/** CORS headers of the library for a token request without `Origin`, byte for byte. */
const openHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': ['DPoP-Nonce', 'WWW-Authenticate', ...limitHeaderNames].join(', '),
}

const refusedWorkload = {
  error: 'invalid_client',
  error_description: 'The token of the workload was refused. The log of svc says why.',
}

const programs: RouteAccess = { family: 'none' }
const ownForms: RouteAccess = { family: 'session', caller: 'guest', csrf: 'form' }
const entries: RouteAccess = { family: 'session', caller: 'guest', csrf: 'entry' }

/** Passes the protocol paths to the OAuth library. All of its requests start here. */
const protocol: FastifyPluginAsync = async (app) => {
  const oauthServer = app.oauth
  const paths = Object.keys(protocolPaths)
  const isOfPrograms = (path: string) => protocolPaths[path]?.caller === 'program'
  const programPaths = paths.filter((path) => isOfPrograms(path) && path !== protocolRoutes.introspection)
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    handOver(scope, oauthServer, programPaths, maxBodySize)
  })
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    handOver(scope, oauthServer, [protocolRoutes.introspection], maxIntrospectionSize)
  })
  await app.register(async (scope) => {
    await addPages(scope)
    const pagePaths = paths.filter((path) => !isOfPrograms(path))
    await scope.register(async (inner) => {
      inner.removeAllContentTypeParsers()
      handOver(inner, oauthServer, pagePaths, maxBodySize)
    })
  })
}

function handOver(scope: FastifyInstance, oauthServer: OAuthServer, paths: readonly string[], bodyLimit: number): void {
  scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) => done(null, body))
  scope.setErrorHandler<FastifyError>(async (error, request, reply) => {
    // The database may be what failed.
    const registry = await oauthServer.current().then(
      (current) => current.registry,
      () => null,
    )
    return refuse(error, request, allowOrigin(request, reply, registry))
  })
  for (const path of paths) {
    const described = protocolPaths[path]
    if (!described) continue
    for (const method of described.methods) {
      const { schema, protocol, alsoAnswers } = describe(path, method)
      scope.route({
        url: path,
        method,
        exposeHeadRoute: method === 'GET',
        config: {
          access: described.caller === 'program' ? programs : described.isEntry ? entries : ownForms,
          crossOrigin: 'elsewhere',
          protocol,
          alsoAnswers,
        },
        schema: method === 'OPTIONS' ? { hide: true } : schema,
        handler: (request, reply) => answer(oauthServer, request, reply),
      })
    }
  }
}

/**
 * Errors before the library runs, in the protocol's format: a body that is too large or has an unknown type gets 400.
 */
async function refuse(error: FastifyError, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const found = answerOf(error, request)
  const isBadBody = [400, 413, 415].includes(found.statusCode)
  const reason = found.statusCode === 413 ? 'The request body is too large.' : 'The request body cannot be read.'
  const answer = isBadBody && found.statusCode !== 400 ? new HttpError(400, 'malformed_body', reason) : found
  // Pages have an error page of their own, and a 404 is not a protocol error.
  if (isSeen(request) || found.statusCode === 404) throw answer
  return sendJson(reply.code(answer.statusCode).headers(answer.headers), protocolError(answer))
}

/** Lets a page of a client read an error that the library, which sets these headers otherwise, does not see. */
function allowOrigin(
  { headers: { origin }, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  registry: Registry | null,
) {
  if (routeOptions.config.access?.family !== 'none' || origin === undefined) return reply
  varyBy(reply, 'Origin')
  return registry?.isOriginOfClient(origin)
    ? reply.headers({ 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' })
    : reply
}

const sendJson = (reply: FastifyReply, body: object): FastifyReply =>
  reply.type('application/json; charset=utf-8').serializer(JSON.stringify).send(body)

async function answer(oauthServer: OAuthServer, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { app } = request.server.config.current()
  const library = await oauthServer.current()
  const { raw } = request
  const { url: path = '', config } = request.routeOptions
  const isProgram = config.access?.family === 'none'
  // The library accepts one space only.
  if (raw.headers.authorization) raw.headers.authorization = raw.headers.authorization.replace(/^(\w+) +/, '$1 ')
  if (path.endsWith('/:uid')) {
    // Without the query: a resumed authorization uses its original parameters, and the library would fail on others.
    raw.url = request.url.split('?')[0] ?? ''
    // A trailing slash is another path, not an empty uid.
    if (raw.url.endsWith('/')) throw notFound()
  }
  const isIntrospection = path === protocolRoutes.introspection
  const reading = { takesJson: isProgram, lists: isIntrospection ? ['tokens'] : [] }
  let form = Buffer.isBuffer(request.body) ? formOf(request.body, request.headers['content-type'], reading) : null
  const fields = isProgram && form !== null ? new URLSearchParams(form) : null
  const parts = { registry: library.registry, limits: oauthServer.limits, workloads: oauthServer.workloads }
  const workload = fields && (await authenticateWorkload(request, fields, parts))
  if (workload === 'refused') return sendJson(reply.code(401).headers(openHeaders), refusedWorkload)
  if (fields && workload) form = withWorkload(fields)
  let asked: AskedTokens | undefined
  if (isIntrospection && form !== null) {
    const introspection = readIntrospection(form)
    const { limits, secretUses } = oauthServer
    const authenticated =
      takes('introspection') &&
      clientBySecret(request, introspection.fields, { registry: library.registry, limits, secretUses })
    if (authenticated) {
      authenticated.noteUse()
      const { status, body } = await library.introspection.answer(authenticated.client, introspection.asked)
      return sendJson(reply.code(status), body)
    }
    // The library authenticates the client. It requires a token, but does not use it.
    introspection.fields.set('token', '-')
    asked = introspection.asked
    form = introspection.fields.toString()
  }
  const token = path === protocolRoutes.token && form ? await answerToken(library, request, form) : null
  if (token) return sendJson(reply.headers(openHeaders), token)
  const isUserInfo = path === protocolRoutes.userinfo && takes('user-info')
  const info = isUserInfo ? await library.userInfo.answer(request) : null
  if (info) return sendJson(reply.headers(openHeaders), info)
  setOrigin(raw, app.url, clientAddress(request))
  const publicClient = isProgram ? publicClientOf(raw.headers.authorization, library.registry) : null
  if (publicClient !== null && form !== null) {
    form = withClientId(form, publicClient)
    delete raw.headers.authorization
  }
  if (form && protocolPaths[path]?.isEntry && comesWithoutSession(request, app.url)) {
    // Encoded again, because a body may have bytes that no header can have.
    return reply.redirect(`${path}?${new URLSearchParams(form)}`, 303)
  }
  if (form !== null) replaceBody(raw, form)
  const signedIn = isProgram ? null : signedInOf(request)
  setRequestFacts(raw, { request, reply, signedIn, ...(asked && { asked }), ...(workload && { workload }) })
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    // These documents are the same for all clients and requested often.
    const isPublic = name === 'cache-control' && path.startsWith('/.well-known/')
    if (value !== undefined && !isPublic) reply.raw.setHeader(name, value)
  }
  await library.answer(raw, reply.raw)
}

/** Response to a token request without the library; null if the library must decide. */
async function answerToken(library: Protocol, request: FastifyRequest, form: string): Promise<object | null> {
  const machine = takes('client-credentials') ? await library.clientCredentials.answer(request, form) : null
  return machine ?? (takes('user-tokens') ? library.userTokens.answer(request, form) : null)
}

/**
 * Tests for a POST of another site to authorize or sign out without the session cookie, which browsers send with a GET.
 */
const comesWithoutSession = (request: FastifyRequest, url: string): boolean =>
  url.startsWith('https:') && isCrossSite(request) && request.presentedSessionId === null

export default protocol
