// engine: none
import t from 'tap'
import { clients, codeFlow, Person, refresh, request, response } from '../../../support/oauth.ts'
import { buildApis, seen, settings } from './setup.ts'

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
