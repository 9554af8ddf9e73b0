// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import type { TestApp } from '../../../support/app.ts'
import { codeFlow, introspect, Person, refresh, request, token } from '../../../support/oauth.ts'
import { apis, buildApis, claimNames, seen } from './setup.ts'

const withClaims = {
  apis: {
    ...apis,
    orders: { ...apis.orders, claims: [...claimNames] },
    stock: { ...apis.stock, claims: ['role', 'email'] },
  },
}

const tokenFor = async (svc: TestApp, ada: Person, scope: string) =>
  (await codeFlow(svc, ada, 'web', { scope })).access_token

t.test('adds the claims of the API to access tokens and their introspection', async (t) => {
  const svc = await buildApis(t, withClaims)
  const { id, email, name, username, updated_at } = await svc.createUser({ role: 'editor' })
  const ada = new Person(svc, email)
  const all = {
    role: 'editor',
    name,
    preferred_username: username,
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
  const granted = await codeFlow(svc, ada, 'web', { scope: 'openid orders:read offline_access', resource: audience })
  t.match(seen(granted.access_token), { role: 'user' })
  const { refresh_token } = granted
  const narrowed = { grant_type: 'refresh_token', refresh_token, scope: 'openid', resource: audience }
  const { access_token } = (await token(svc, 'web', narrowed)).json()
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
