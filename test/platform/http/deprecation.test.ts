// engine: none
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'

const deprecated = { since: '2026-11-22', sunset: '2027-11-22', instead: 'GET /api/task' }

/** Builds svc with a deprecated route, because this version has none. */
async function buildDeprecated(t: Test): Promise<TestApp> {
  const deprecate = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', (route) => {
      if (route.url === '/server/:id') route.config = { ...route.config, deprecated }
    })
  }
  subscribe('fastify.initialization', deprecate)
  t.teardown(() => unsubscribe('fastify.initialization', deprecate))
  return buildTestApp(t)
}

t.test('announces a deprecated route by headers on each of its responses', async (t) => {
  const svc = await buildDeprecated(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  const link =
    '<http://localhost:8000/openapi.json#/paths/~1server~1%7Bid%7D/put>; rel="deprecation"; type="application/json"'
  for (const [bearer, status] of [
    [token, 200],
    [null, 401],
  ] as const) {
    const answer = await svc.bearer(bearer, 'PUT', '/server/1', { name: 'web' })
    t.equal(answer.statusCode, status)
    t.match(answer.headers, { deprecation: '@1795305600', sunset: 'Mon, 22 Nov 2027 00:00:00 GMT', link })
  }
  const other = await svc.bearer(token, 'GET', '/api/user')
  t.notOk(other.headers.deprecation ?? other.headers.sunset ?? other.headers.link)
})

t.test('marks a deprecated operation in the API description, where the `Link` header points', async (t) => {
  const svc = await buildDeprecated(t)
  const { headers } = await svc.bearer(null, 'PUT', '/server/1', {})
  const [, pointer = ''] = /#([^>]+)>/.exec(String(headers.link)) ?? []
  const document = (await svc.app.inject('/openapi.json')).json()
  const operation = pointer
    .slice(1)
    .split('/')
    .reduce((part, key) => part[decodeURIComponent(key).replaceAll('~1', '/')], document)
  t.equal(operation.deprecated, true)
  t.match(
    operation.description,
    /Deprecated since 2026-11-22, and may be missing from 2027-11-22\. Use `GET \/api\/task`\./,
  )
  t.notOk(document.paths['/api/user'].get.deprecated)
})

t.test('lets pages of other origins read the headers', async (t) => {
  const svc = await buildDeprecated(t)
  const origin = 'http://localhost:5173'
  const answer = await svc.app.inject({ method: 'PUT', url: '/server/1', headers: { origin } })
  const exposed = String(answer.headers['access-control-expose-headers'])
  for (const name of ['Deprecation', 'Sunset', 'Link']) t.ok(exposed.split(', ').includes(name), name)
})
