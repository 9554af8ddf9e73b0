// engine: none
import t from 'tap'
import { apis, bills, buildApis, orders, reload, stock } from './setup.ts'

const path = '/.well-known/oauth-protected-resource'

t.test('publishes the metadata of each API', async (t) => {
  const svc = await buildApis(t)
  const answer = await svc.app.inject({ url: `${path}/orders`, headers: { origin: 'https://elsewhere.example' } })
  t.equal(answer.statusCode, 200)
  t.match(answer.headers, {
    'content-type': /^application\/json/,
    'cache-control': 'public, max-age=600',
    'access-control-allow-origin': '*',
  })
  t.notOk(answer.headers['access-control-allow-credentials'])
  t.notOk(answer.headers['set-cookie'])
  t.strictSame(answer.json(), {
    resource: orders,
    authorization_servers: ['http://localhost:8000'],
    scopes_supported: ['orders:read', 'orders:write'],
    bearer_methods_supported: ['header'],
  })
  const issuer = answer.json().authorization_servers[0]
  const server = await svc.app.inject(
    `${issuer.slice('http://localhost:8000'.length)}/.well-known/oauth-authorization-server`,
  )
  t.equal(server.json().issuer, issuer)
  t.strictSame(server.json().protected_resources, [orders, stock, bills])
  t.match(server.json().scopes_supported, [
    'openid',
    'profile',
    'email',
    'offline_access',
    'roles',
    'groups',
    'view-tasks',
  ])
  for (const scope of ['stock:write', 'bills:read']) t.ok(server.json().scopes_supported.includes(scope), scope)
  t.equal((await svc.app.inject({ method: 'HEAD', url: `${path}/stock` })).statusCode, 200)
  t.equal((await svc.app.inject({ method: 'POST', url: `${path}/stock` })).statusCode, 405)
})

t.test('names only the advertised scopes of an API', async (t) => {
  const advertised = { ...apis, orders: { ...apis.orders, advertised_scopes: ['orders:read'] } }
  const svc = await buildApis(t, { apis: advertised })
  t.same((await svc.app.inject(`${path}/orders`)).json().scopes_supported, ['orders:read'])
  t.same((await svc.app.inject(`${path}/stock`)).json().scopes_supported, ['stock:read', 'stock:write'])
})

t.test('answers 404 for unknown APIs, and follows a reload', async (t) => {
  const svc = await buildApis(t)
  const names = [
    '',
    'none',
    'Orders',
    'orders/',
    '__proto__',
    'constructor',
    'toString',
    '%6frders%00',
    'x'.repeat(300),
  ]
  for (const name of names) {
    const answer = await svc.app.inject(`${path}/${name}`)
    t.match([answer.statusCode, answer.json().code], [404, 'not_found'], name)
    t.notMatch(String(answer.headers['cache-control']), 'public', name)
  }
  reload(svc, { apis: { shop: { ...apis.orders, audience: 'https://shop.example.com' } }, clients: [] })
  t.equal((await svc.app.inject(`${path}/orders`)).statusCode, 404)
  t.match((await svc.app.inject(`${path}/shop`)).json(), { resource: 'https://shop.example.com' })
})
