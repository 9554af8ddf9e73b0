import { decodeJwt } from 'jose'
import t from 'tap'
import type { TestApp } from '../../../support/app.ts'
import { clients, codeFlow, introspect, Person, refresh, request, response, token } from '../../../support/oauth.ts'
import { apis, buildApis, settings } from './setup.ts'

const names = ['role', 'name', 'preferred_username', 'updated_at', 'email', 'email_verified']
const withClaims = {
  apis: { ...apis, orders: { ...apis.orders, claims: names }, stock: { ...apis.stock, claims: ['role', 'email'] } },
}

const seen = (jwt: string | object) => {
  const claims: Record<string, unknown> = typeof jwt === 'string' ? decodeJwt(jwt) : { ...jwt }
  return Object.fromEntries([...names, 'roles'].flatMap((name) => (name in claims ? [[name, claims[name]]] : [])))
}

const tokenFor = async (svc: TestApp, ada: Person, scope: string) =>
  (await codeFlow(svc, ada, 'web', { scope })).access_token

t.test('adds the claims of the API to access tokens and their introspection', async (t) => {
  const svc = await buildApis(t, withClaims)
  const { id, email, name, updated_at } = await svc.createUser({ role: 'editor' })
  const ada = new Person(svc, email)
  const all = {
    role: 'editor',
    name,
    preferred_username: email,
    updated_at: Math.floor(Date.parse(updated_at) / 1000),
    email_verified: true,
    email,
  }
  const tokens = await codeFlow(svc, ada, 'web', { scope: 'openid orders:read' })
  t.same(seen(tokens.access_token), all)
  t.equal(decodeJwt(tokens.access_token).sub, String(id))
  t.same(seen(await introspect(svc, 'watcher', tokens.access_token)), all, 'introspection')
  t.same(seen(await tokenFor(svc, ada, 'stock:read')), { role: 'editor', email, email_verified: true }, 'another API')
  t.same(seen(await tokenFor(svc, ada, 'view-tasks')), {}, 'no API')
  const { prisma } = svc.database
  await prisma.user.update({ where: { id: BigInt(id) }, data: { role: 'owner' } })
  t.equal(seen(await introspect(svc, 'watcher', tokens.access_token)).role, 'owner', 'introspection: of now')
  const renewed = (await refresh(svc, 'web', tokens.refresh_token)).json()
  t.equal(seen(renewed.access_token).role, 'owner', 'refresh: of now')
  const fields = { grant_type: 'password', username: email, password: 'correct horse', scope: 'stock:read' }
  t.match(seen((await token(svc, 'legacy', fields)).json().access_token), { role: 'owner', email }, 'password')
  const machine = (await token(svc, 'machine', { grant_type: 'client_credentials', scope: 'stock:read' })).json()
  t.same(seen(machine.access_token), {}, 'a machine has none')
})

t.test('sends an address only if it is verified', async (t) => {
  const svc = await buildApis(t, withClaims)
  const { id, email } = await svc.createUser({ verified: false })
  const ada = new Person(svc, email)
  const first = await tokenFor(svc, ada, 'orders:read')
  t.match(seen(first), { preferred_username: String(id), email_verified: false })
  t.notMatch(Object.keys(decodeJwt(first)).join(), /\bemail\b(?!_)/)
  t.same(seen(await tokenFor(svc, ada, 'stock:read')), { role: 'user' })
  t.notHas(seen(await introspect(svc, 'watcher', first)), { email: '' })
})

t.test('adds no claims of an API to a token without its scopes', async (t) => {
  const svc = await buildApis(t, withClaims)
  const ada = new Person(svc, (await svc.createUser()).email)
  const { audience } = apis.orders
  const { access_token } = await codeFlow(svc, ada, 'web', { scope: 'openid', resource: audience })
  t.match(decodeJwt(access_token), { aud: audience, scope: 'openid' })
  t.same(seen(access_token), {})
})

t.test('names the claims of the API on the consent page', async (t) => {
  const svc = await buildApis(t, withClaims)
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const body = async (scope: string) => (await ada.authorize(request('web', { scope }))).answer.body
  for (const text of ['Read your name', 'Read your email address', 'Read your role'])
    t.match(await body('orders:read'), text)
  t.notMatch(await body('stock:read'), 'Read your name')
  t.notMatch(await body('view-tasks'), 'Read your')
})

t.test('adds configured claims to ID tokens of a client, and to tokens without an API', async (t) => {
  const own = clients.map((client) => ({ ...client, scopes: ['view-tasks'], claims: ['role', 'email_verified'] }))
  const svc = await buildApis(t, { clients: own, oauth: { access_token_claims: ['role'], id_token_claims: false } })
  const ada = new Person(svc, (await svc.createUser({ role: 'editor' })).email)
  const tokens = await codeFlow(svc, ada, 'web', { scope: 'openid email view-tasks' })
  t.same(seen(tokens.id_token ?? ''), { role: 'editor', email_verified: true })
  t.same(seen(tokens.access_token), { role: 'editor' })
  const renewed = (await refresh(svc, 'web', tokens.refresh_token)).json()
  t.same(seen(renewed.id_token), { role: 'editor', email_verified: true })
  const plain = await buildApis(t, { clients: settings.clients })
  const { email } = await plain.createUser({ role: 'editor' })
  const claims = JSON.stringify({ id_token: { role: null }, userinfo: { role: null } })
  const { code } = response(await new Person(plain, email).allow(request('web', { scope: 'openid', claims })))
  t.ok(code)
  const slim = await codeFlow(plain, new Person(plain, email), 'web', { scope: 'openid', claims })
  t.same(seen(slim.id_token ?? ''), {}, 'the claims parameter does not reveal the role')
  t.notMatch((await plain.bearer(slim.access_token, 'GET', '/oauth/userinfo')).body, 'editor')
})
