// engine: none
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import t, { type Test } from 'tap'
import * as onExpress from '../src/express.ts'
import * as onFastify from '../src/fastify.ts'
import * as onFetch from '../src/fetch.ts'
import * as onHono from '../src/hono.ts'
import { audience, type FakeIssuer, fakeIssuer, listen } from './issuer.ts'

type Options = onFetch.GuardOptions

/** The same API in each framework. `GET /` needs a caller; the other paths are named after their requirement. */
const apis: Record<string, (t: Test, options: Options) => Promise<string>> = {
  async fastify(t, options) {
    const app = fastify()
    await app.register(onFastify.guard(options))
    const { abilities, ability, role } = onFastify
    app.get('/', async ({ caller }) => ({ id: caller.id, kind: caller.kind, writes: caller.can('orders:write') }))
    app.post('/', async ({ caller }) => ({ id: caller.id }))
    app.get('/abilities', { onRequest: abilities('orders:read', 'orders:write') }, async () => ({}))
    app.get('/ability', { preHandler: ability('orders:read', 'orders:admin') }, async () => ({}))
    app.get('/role', { onRequest: role('staff', 'admin') }, async () => ({}))
    t.teardown(() => app.close())
    return app.listen({ host: '127.0.0.1', port: 0 })
  },
  async express(t, options) {
    const app = express()
    const { abilities, ability, role } = onExpress
    app.use(onExpress.guard(options))
    app.get('/', ({ caller }, response) => {
      response.json({ id: caller.id, kind: caller.kind, writes: caller.can('orders:write') })
    })
    app.post('/', ({ caller }, response) => void response.json({ id: caller.id }))
    app.get('/abilities', abilities('orders:read', 'orders:write'), (_request, response) => void response.json({}))
    app.get('/ability', ability('orders:read', 'orders:admin'), (_request, response) => void response.json({}))
    app.get('/role', role('staff', 'admin'), (_request, response) => void response.json({}))
    return listen(t, app)
  },
  async hono(t, options) {
    const app = new Hono()
    const { abilities, ability, role } = onHono
    app.use(onHono.guard(options))
    app.get('/', ({ var: { caller }, json }) =>
      json({ id: caller.id, kind: caller.kind, writes: caller.can('orders:write') }),
    )
    app.post('/', ({ var: { caller }, json }) => json({ id: caller.id }))
    app.get('/abilities', abilities('orders:read', 'orders:write'), ({ json }) => json({}))
    app.get('/ability', ability('orders:read', 'orders:admin'), ({ json }) => json({}))
    app.get('/role', role('staff', 'admin'), ({ json }) => json({}))
    return listen(t, getRequestListener(app.fetch))
  },
  async fetch(t, options) {
    const api = onFetch.guard(options)
    const { abilities, ability, role } = onFetch
    const empty = () => Response.json({})
    const routes: Record<string, (request: Request, context: { params: object }) => Response | Promise<Response>> = {
      'GET /': api(({ method }, { caller, params }) =>
        Response.json({ id: caller.id, kind: caller.kind, writes: caller.can('orders:write'), method, params }),
      ),
      'POST /': api((_request, { caller }) => Response.json({ id: caller.id })),
      'GET /abilities': api(empty, abilities('orders:read', 'orders:write')),
      'GET /ability': api(empty, ability('orders:read', 'orders:admin')),
      'GET /role': api(empty, role('staff', 'admin')),
      'GET /.well-known/oauth-protected-resource': api.metadata,
    }
    const handle = (request: Request) => {
      const handler = routes[`${request.method} ${new URL(request.url).pathname}`]
      return handler ? handler(request, { params: {} }) : new Response(null, { status: 404 })
    }
    return listen(t, getRequestListener(handle))
  },
}

async function start(t: Test, name: string, options: Partial<Options> = {}) {
  const issuer = await fakeIssuer(t)
  const create = apis[name]
  if (!create) throw new Error(name)
  const url = await create(t, { issuer: issuer.url, audience, now: () => issuer.clock.now, ...options })
  const get = async (path: string, token?: string, init: RequestInit = {}) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(`${url}${path}`, { headers, ...init })
    const text = await response.text()
    return {
      status: response.status,
      body: text ? JSON.parse(text) : null,
      headers: Object.fromEntries(response.headers),
    }
  }
  return { issuer, url, get }
}

const metadata = 'resource_metadata="https://orders.example.com/.well-known/oauth-protected-resource"'

for (const name of Object.keys(apis)) {
  t.test(`${name}: passes the caller to the handler`, async (t) => {
    const { issuer, get } = await start(t, name)
    t.match(await get('/', await issuer.token()), { status: 200, body: { id: '7', kind: 'jwt', writes: false } })
    t.match(await get('/', await issuer.token({ scope: '*' }), {}), { body: { writes: true } })
  })

  t.test(`${name}: rejects requests without a valid token`, async (t) => {
    const { issuer, get } = await start(t, name)
    const missing = await get('/')
    t.match(missing, { status: 401, body: { message: 'Unauthenticated.', code: 'unauthenticated' } })
    t.match(missing.headers, { 'www-authenticate': `Bearer ${metadata}`, 'cache-control': 'no-store' })
    t.match(missing.headers, { 'content-type': /^application\/json/ })
    const expired = await get('/', await issuer.token({ exp: 1 }))
    const description = 'error="invalid_token", error_description="The access token expired"'
    t.match(expired, { status: 401, headers: { 'www-authenticate': `Bearer ${description}, ${metadata}` } })
    t.match(await get('/', 'a.b'), { status: 401 })
    t.match(await get('/abilities'), { status: 401 }, 'before the requirement')
  })

  t.test(`${name}: never reads a token from the query, a form or a cookie`, async (t) => {
    const { issuer, get } = await start(t, name)
    const token = await issuer.token()
    t.match(await get(`/?access_token=${token}`), {
      status: 401,
      headers: { 'www-authenticate': `Bearer ${metadata}` },
    })
    const body = new URLSearchParams({ access_token: token })
    t.match(await get('/', undefined, { method: 'POST', body }), { status: 401 })
    t.match(await get('/', undefined, { headers: { cookie: `access_token=${token}` } }), { status: 401 })
    t.match(await get('/', undefined, { headers: { 'x-forwarded-authorization': `Bearer ${token}` } }), { status: 401 })
  })

  t.test(`${name}: rejects two Authorization headers`, async (t) => {
    const { issuer, url } = await start(t, name)
    const good = `Bearer ${await issuer.token()}`
    for (const second of [good, 'Bearer x', 'Basic dXNlcjpwYXNz', '']) {
      for (const authorization of [
        [good, second],
        [second, good],
      ]) {
        const headers = [
          'host',
          'localhost',
          ...authorization.flatMap((value, n) => [n ? 'authorization' : 'AUTHORIZATION', value]),
        ]
        const status = await new Promise((done, fail) => {
          send(url, { headers, agent: false }, (answer) => done(answer.resume().statusCode))
            .once('error', fail)
            .end()
        })
        // `Headers` joins the values, so the first one names the scheme.
        const isOther = ['hono', 'fetch'].includes(name) && !authorization[0]?.startsWith('Bearer')
        t.equal(status, isOther ? 401 : 400, JSON.stringify(authorization.map((value) => value.slice(0, 9))))
      }
    }
  })

  t.test(`${name}: requires all abilities, one of them, or a role`, async (t) => {
    const { issuer, get } = await start(t, name)
    const call = async (path: string, claims: object) => get(path, await issuer.token({ ...claims }))
    const read = { scope: 'orders:read' }
    const rejected = await call('/abilities', read)
    t.match(rejected, { status: 403, body: { code: 'invalid_ability' } })
    const challenge = `Bearer error="insufficient_scope", scope="orders:read orders:write", ${metadata}`
    t.equal(rejected.headers['www-authenticate'], challenge)
    t.match(await call('/abilities', { scope: 'orders:write orders:read' }), { status: 200 })
    t.match(await call('/ability', read), { status: 200 })
    t.match(await call('/ability', { scope: 'orders:write' }), { status: 403, body: { code: 'invalid_ability' } })
    for (const path of ['/abilities', '/ability']) t.match(await call(path, { scope: '*' }), { status: 200 })
    t.match(await call('/role', { scope: '*' }), { status: 403, body: { message: 'Forbidden', code: 'forbidden' } })
    t.match(await call('/role', { role: 'user' }), { status: 403 })
    t.match(await call('/role', { role: 'staff' }), { status: 200 })
  })

  t.test(`${name}: answers 503 with Retry-After while svc is unavailable`, async (t) => {
    const { issuer, get } = await start(t, name, { introspection: { clientId: 'api', clientSecret: 'secret' } })
    t.match(await get('/', '1|a'), { status: 200, body: { id: '7', kind: 'token' } })
    t.match(await get('/', '1|revoked'), { status: 401 })
    issuer.answer = (_request, response) => response.destroy()
    const answer = await get('/', '1|a')
    t.match(answer, { status: 503, body: { code: 'unavailable' }, headers: { 'retry-after': '1' } })
    t.notMatch(JSON.stringify(answer), /127\.0\.0\.1|fetch failed/, 'without the cause')
  })

  t.test(`${name}: serves the metadata of the API without a token`, async (t) => {
    const { issuer, get } = await start(t, name, { metadata: { scopes_supported: ['orders:read'], resource: 'x' } })
    const { status, body, headers } = await get('/.well-known/oauth-protected-resource')
    t.equal(status, 200)
    t.same(body, {
      scopes_supported: ['orders:read'],
      resource: audience,
      authorization_servers: [issuer.url],
      bearer_methods_supported: ['header'],
    })
    t.match(headers, { 'content-type': /^application\/json/, 'access-control-allow-origin': '*' })
  })

  t.test(`${name}: rejects requirements without a name or with an invalid one`, async (t) => {
    const { abilities, ability, role } =
      { fastify: onFastify, express: onExpress, hono: onHono, fetch: onFetch }[name] ?? onFetch
    for (const required of [abilities, ability, role]) {
      for (const names of [[], [''], ['a b'], ['a"b'], ['a\r\nb'], [undefined as never]])
        t.throws(() => required(...names), TypeError)
    }
  })
}

t.test('fastify: serves the metadata at the root for a guard in a scope with a prefix', async (t) => {
  const app = fastify()
  t.teardown(() => app.close())
  const api = onFastify.guard({ issuer: 'https://id.example.com', audience: 'https://orders.example.com/v1' })
  await app.register(api.metadata)
  app.get('/public', async ({ caller }) => caller.id)
  await app.register(async (scope) => void (await scope.register(api)), { prefix: '/v1' })
  const { statusCode, json } = await app.inject('/.well-known/oauth-protected-resource/v1')
  t.equal(statusCode, 200)
  t.match(json(), { resource: 'https://orders.example.com/v1' })
  t.equal((await app.inject('/public')).statusCode, 500, 'a route outside the guard has no caller')
})

t.test('fastify: guards each scope for its own audience', async (t) => {
  const issuer = await fakeIssuer(t)
  const app = fastify()
  t.teardown(() => app.close())
  const audiences = ['https://api.example.com/orders', 'https://api.example.com/billing']
  for (const [index, scopeAudience] of audiences.entries()) {
    await app.register(
      async (scope) => {
        await scope.register(
          onFastify.guard({ issuer: issuer.url, audience: scopeAudience, now: () => issuer.clock.now }),
        )
        scope.get('/', async ({ caller }) => ({ id: caller.id }))
      },
      { prefix: `/${index}` },
    )
  }
  for (const [index, aud] of audiences.entries()) {
    const headers = { authorization: `Bearer ${await issuer.token({ aud })}` }
    const statuses = await Promise.all(['/0', '/1'].map(async (url) => (await app.inject({ url, headers })).statusCode))
    t.same(statuses, index === 0 ? [200, 401] : [401, 200])
  }
})

t.test('fastify: fails to start if the application has another `request.caller`', async (t) => {
  const app = fastify()
  t.teardown(() => app.close())
  app.decorateRequest('caller', null as never)
  await t.rejects(
    Promise.resolve(app.register(onFastify.guard({ issuer: 'https://id.example.com', audience }))),
    /already been added/,
  )
})

t.test('fastify: logs failures of svc', async (t) => {
  const issuer: FakeIssuer = await fakeIssuer(t)
  issuer.answer = (_request, response) => response.writeHead(500).end()
  const lines: string[] = []
  const app = fastify({ logger: { stream: { write: (line: string) => void lines.push(line) } } })
  t.teardown(() => app.close())
  await app.register(onFastify.guard({ issuer: issuer.url, audience }))
  app.get('/', async () => 'ok')
  const headers = { authorization: `Bearer ${await issuer.token()}` }
  t.equal((await app.inject({ url: '/', headers })).statusCode, 503)
  t.match(lines.join(''), /"msg":"svc is unavailable"/)
})

t.test('requirements fail if the guard did not run', async (t) => {
  const app = fastify()
  t.teardown(() => app.close())
  app.get('/', { onRequest: onFastify.abilities('x') }, async () => 'ok')
  t.equal((await app.inject('/')).statusCode, 500)

  const onNode = express()
  onNode.set('env', 'test')
  onNode.get('/', (request, _response, next) => {
    // A middleware of the application could set an object of another kind.
    Object.assign(request, { caller: { can: () => true } })
    next()
  })
  onNode.get('/', onExpress.abilities('x'), (_request, response) => void response.json({}))
  t.equal((await fetch(await listen(t, onNode))).status, 500)

  const onWeb = new Hono()
  onWeb.onError((_error, { text }) => text('failed', 500))
  onWeb.get('/', onHono.role('x'), ({ text }) => text('ok'))
  t.equal((await onWeb.request('/')).status, 500)
})

t.test('an audience that is not a URL has no metadata', async (t) => {
  const issuer = await fakeIssuer(t)
  const api = onFetch.guard({ issuer: issuer.url, audience: 'orders' })
  t.equal(api.metadata().status, 404)
  const answer = await api(() => new Response())(new Request('http://localhost/'), {})
  t.equal(answer.headers.get('www-authenticate'), 'Bearer')
  const server = createServer(getRequestListener(api.metadata))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => server.close())
  t.equal((await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).status, 404)
})
