// engine: none
import { Readable } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import t, { type Test } from 'tap'
import * as onExpress from '../src/express.ts'
import * as onFastify from '../src/fastify.ts'
import * as onFetch from '../src/fetch.ts'
import * as onHono from '../src/hono.ts'
import { guardTool } from '../src/tools.ts'
import { audience, fakeIssuer, listen } from './issuer.ts'

type Options = onFetch.GuardOptions

const writes = { abilities: ['orders:write'] }
const strict = { abilities: ['orders:write'], secondFactor: true }

/** An MCP endpoint in each framework, which answers with the body that the handler read. */
const servers: Record<string, (t: Test, options: Options) => Promise<string>> = {
  async fastify(t, options) {
    const app = fastify()
    await app.register(onFastify.guard(options))
    const preHandler = [onFastify.guardTool('create_*', writes), onFastify.guardTool('delete_*', strict)]
    app.route({ method: ['GET', 'POST', 'DELETE'], url: '/mcp', preHandler, handler: ({ body }) => body ?? {} })
    t.teardown(() => app.close())
    return app.listen({ host: '127.0.0.1', port: 0 })
  },
  async express(t, options) {
    const app = express()
    app.use(onExpress.guard(options))
    app.use(express.json())
    app.all(
      '/mcp',
      onExpress.guardTool('create_*', writes),
      onExpress.guardTool('delete_*', strict),
      ({ body }, response) => {
        response.json(body ?? {})
      },
    )
    return listen(t, app)
  },
  async hono(t, options) {
    const app = new Hono()
    app.use(onHono.guard(options))
    app.all('/mcp', onHono.guardTool('create_*', writes), onHono.guardTool('delete_*', strict), async ({ req, json }) =>
      json(req.method === 'POST' ? await req.raw.json() : {}),
    )
    return listen(t, getRequestListener(app.fetch))
  },
  async fetch(t, options) {
    const api = onFetch.guard(options)
    const handler = api(
      async (request) => Response.json(request.method === 'POST' ? await request.json() : {}),
      onFetch.guardTool('create_*', writes),
      onFetch.guardTool('delete_*', strict),
    )
    return listen(
      t,
      getRequestListener((request) => handler(request, {})),
    )
  },
}

const call = (name: unknown, id = 1) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } })

for (const [name, create] of Object.entries(servers)) {
  t.test(`${name}: guards single tools by the body of the call`, async (t) => {
    const issuer = await fakeIssuer(t)
    const url = await create(t, { issuer: issuer.url, audience, now: () => issuer.clock.now })
    const reader = await issuer.token({ scope: 'orders:read' })
    const writer = await issuer.token({ scope: 'orders:read orders:write' })
    const strong = await issuer.token({ scope: 'orders:read orders:write', acr: '2' })
    const send = async (token: string, body: unknown, method = 'POST') => {
      const response = await fetch(`${url}/mcp`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === null ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === null ? {} : { body: JSON.stringify(body) }),
      })
      return {
        status: response.status,
        challenge: response.headers.get('www-authenticate') ?? '',
        body: await response.text(),
      }
    }
    const open = [
      call('read_orders'),
      call('recreate_x'),
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      { method: 'x', params: { name: 'create_x' } },
    ]
    for (const body of open) {
      const answer = await send(reader, body)
      t.equal(answer.status, 200, JSON.stringify(body))
      t.same(JSON.parse(answer.body), body, 'the handler reads the body')
    }
    for (const method of ['GET', 'DELETE']) t.equal((await send(reader, null, method)).status, 200, method)

    const refused = await send(reader, call('create_order'))
    t.match(refused, { status: 403, challenge: /error="insufficient_scope", scope="orders:read orders:write"/ })
    t.match(refused.challenge, /resource_metadata="https:\/\/orders\.example\.com\/\.well-known/)
    t.equal((await send(reader, [call('read_orders'), call('create_order', 2)])).status, 403, 'in a batch')
    t.equal((await send(reader, call('create_order'), 'DELETE')).status, 403, 'in the body of a DELETE')
    t.equal((await send(writer, call('create_order'))).status, 200)
    const weak = await send(writer, call('delete_order'))
    t.match(weak, { status: 401, challenge: /error="insufficient_user_authentication".*acr_values="2 phr"/ })
    t.equal((await send(strong, call('delete_order'))).status, 200)
    t.equal((await send(await issuer.token({ scope: '*', acr: 'phr' }), call('delete_order'))).status, 200)
    for (const bad of [
      call(['create_order']),
      call(undefined),
      call(7),
      call(`create_${'x'.repeat(256)}`),
      [null],
      [[call('create_order')]],
      { method: 'tools/call' },
    ]) {
      t.equal((await send(strong, bad)).status, 400, JSON.stringify(bad))
    }
  })
}

t.test('reports the missing body parser, and requirements that require nothing', async (t) => {
  const app = express()
  const issuer = await fakeIssuer(t)
  app.use(onExpress.guard({ issuer: issuer.url, audience, now: () => issuer.clock.now }))
  app.post('/mcp', onExpress.guardTool('delete_*', strict), (_request, response) => void response.json({}))
  app.use(
    ((error, _request, response, _next) =>
      void response.status(500).send(error.message)) as express.ErrorRequestHandler,
  )
  const url = await listen(t, app)
  const headers = { authorization: `Bearer ${await issuer.token()}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/mcp`, { method: 'POST', headers, body: JSON.stringify(call('delete_x')) })
  t.match([answer.status, await answer.text()], [500, /needs the parsed JSON body/])
  const { checkBody } = guardTool('x', writes)
  for (const body of [Buffer.from('{}'), new ArrayBuffer(2), Readable.from(['{}']), undefined]) {
    t.throws(() => checkBody({} as onFetch.Caller, body), /needs the parsed JSON body/)
  }
  t.throws(() => guardTool('x', {}), /requires abilities, roles or secondFactor/)
  t.throws(() => guardTool('x', { abilities: ['a b'] }), /is not a valid name/)
})

t.test('requires roles, and takes special characters of a name literally', async (t) => {
  const issuer = await fakeIssuer(t)
  const caller = async (claims: object) => issuer.guard().authenticate([`Bearer ${await issuer.token({ ...claims })}`])
  const { checkBody } = guardTool('files.(read)', { roles: ['staff'] })
  t.equal(checkBody(await caller({ role: 'user' }), call('files.(read)'))?.status, 403)
  t.equal(checkBody(await caller({ role: 'staff' }), call('files.(read)')), null)
  t.equal(checkBody(await caller({}), call('filesXread')), null)
})

t.test('tells who acts for the user', async (t) => {
  const issuer = await fakeIssuer(t)
  const actor = async (act: unknown) =>
    (await issuer.guard().authenticate([`Bearer ${await issuer.token({ act })}`])).actor
  t.equal(await actor(undefined), null)
  t.same(await actor({ sub: 'assistant' }), { id: 'assistant', actor: null })
  const chain = { sub: 'third', act: { sub: 'second', act: { sub: 'first' } } }
  t.same(await actor(chain), { id: 'third', actor: { id: 'second', actor: { id: 'first', actor: null } } })
  for (const bad of ['x', 7, {}, { sub: 7 }, { sub: '' }, { sub: 'a', act: 'x' }, { sub: 'fourth', act: chain }]) {
    await t.rejects(actor(bad), { message: 'Unauthenticated.' }, JSON.stringify(bad))
  }
})
