// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { secret, token } from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'
import { buildGuarded } from './setup.ts'

const orders = 'https://orders.example.com'
const settings = {
  scopes: { 'view-tasks': 'See your tasks' },
  apis: {
    orders: { audience: orders, scopes: ['orders:read', 'orders:write'] },
    mail: { audience: 'https://mail.example.com', scopes: ['mail:send'] },
  },
  clients: [
    {
      client_id: 'machine',
      type: 'confidential',
      secret,
      grants: ['client_credentials'],
      scopes: ['orders:read', 'mail:send', 'view-tasks'],
    },
  ],
}
const rules = [
  { paths: ['/orders/*'], abilities: ['orders:read'], audience: 'orders' },
  { paths: ['/write/*'], abilities: ['orders:write'], audience: 'orders' },
  { paths: ['/mail/*'], audience: 'mail' },
  { paths: ['/plain/*'] },
]

t.test('accepts an access token of the API that the rule names, and no token of another API', async (t) => {
  stopTime(t)
  const svc = await buildGuarded(t, rules, settings)
  const bearer = async (scope: string) => {
    const answer = await token(svc, 'machine', { grant_type: 'client_credentials', scope })
    return { authorization: `Bearer ${answer.json().access_token}` }
  }
  const status = async (scope: string, path: string) =>
    (await svc.ask({ url: `https://api.example.com${path}`, headers: await bearer(scope) })).statusCode
  const passed = await svc.ask({ headers: await bearer('orders:read') })
  t.equal(passed.statusCode, 200)
  t.match(passed.headers, { 'svc-abilities': 'orders:read' })
  const phantom = String(passed.headers.authorization).slice('Bearer '.length)
  t.match(decodeJwt(phantom), { aud: orders, scope: 'orders:read', client_id: 'svc-guard' })
  t.equal(await status('orders:read', '/write/1'), 403, 'without the ability')
  t.equal(await status('orders:read', '/mail/1'), 401, 'at a rule of another API')
  t.equal(await status('orders:read', '/plain/1'), 401, 'at a rule without an API')
  t.equal(await status('mail:send', '/mail/1'), 200)
  t.equal(await status('mail:send', '/orders/1'), 401)
  t.equal(await status('view-tasks', '/orders/1'), 403, 'a token of svc has no scopes of the API')
  t.equal(await status('view-tasks', '/plain/1'), 200)
  const headers = { authorization: `Bearer ${phantom}` }
  t.equal((await svc.ask({ headers })).statusCode, 401, 'no token of the guard itself')
  t.equal((await svc.app.inject({ url: '/api/user', headers: await bearer('orders:read') })).statusCode, 401)
})
