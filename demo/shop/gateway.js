// The gateway of the shop. It serves the single-page app, and asks svc about each request to the API. In production, nginx,
// Caddy or Traefik does this.
import { get } from 'node:http'
import { dirname } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import proxy from '@fastify/http-proxy'
import files from '@fastify/static'
import fastify from 'fastify'

const app = fastify()
const client = dirname(fileURLToPath(import.meta.resolve('@svc/client')))
await app.register(files, { root: `${import.meta.dirname}/spa` })
await app.register(files, { root: client, prefix: '/svc-client/', decorateReply: false })

/** Asks svc whether the request may pass. */
function ask(request) {
  const { 'content-length': _, 'transfer-encoding': __, ...sent } = request.headers
  const headers = {
    ...sent,
    'x-forwarded-for': request.ip,
    'x-forwarded-proto': 'http',
    'x-forwarded-host': request.headers.host,
    'x-forwarded-method': request.method,
    'x-forwarded-uri': request.raw.url,
  }
  return new Promise((done, failed) => {
    get({ host: '127.0.0.1', port: 8001, path: '/svc/guard', headers }, done).on('error', failed)
  })
}

await app.register(proxy, {
  prefix: '/api',
  upstream: 'http://127.0.0.1:3000',
  preHandler: async (request, reply) => {
    const answer = await ask(request)
    if (answer.headers.location) return reply.redirect(answer.headers.location)
    if (answer.statusCode !== 200) return reply.code(answer.statusCode).send(await json(answer))
    answer.resume()
    request.accessToken = answer.headers.authorization
  },
  replyOptions: {
    // The API gets the access token in place of the session cookie.
    rewriteRequestHeaders: ({ accessToken }, { cookie, ...headers }) => ({ ...headers, authorization: accessToken }),
  },
})

await app.listen({ host: '127.0.0.1', port: 5173 })
