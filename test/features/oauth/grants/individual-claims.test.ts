// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { callback, clients, oauthSettings, Person, partner, redeem, request, response } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const settings = {
  ...oauthSettings,
  clients: [...clients, partner('partner'), partner('sister', { first_party: true })],
}

const asks = (client: string, scope: string, claims: string | object) =>
  request(client, {
    redirect_uri: callback,
    scope,
    claims: typeof claims === 'string' ? claims : JSON.stringify(claims),
  })

t.test('asks no consent for claims of scopes that the user allowed', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const scope = 'openid email profile'
  await ada.allow(request('partner', { redirect_uri: callback, scope }))
  for (const claims of [
    { id_token: { email: { essential: true }, email_verified: null } },
    { userinfo: { name: null, preferred_username: null } },
    { id_token: { auth_time: { essential: true }, sub: null } },
  ]) {
    const stop = await ada.authorize(asks('partner', scope, claims))
    t.ok(response(stop).code, JSON.stringify(claims))
  }
  const narrow = await ada.authorize(asks('partner', 'openid', { userinfo: { email: null } }))
  t.ok(response(narrow).code, 'the scope was allowed before')
  const more = await ada.authorize(asks('partner', 'openid email', { userinfo: { roles: null } }))
  t.equal(more.page, 'Authorize', 'but consent for others')
})

t.test('asks no consent for claims of a first-party client', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const ada = new Person(svc, email)
  await ada.signIn()
  const claims = { id_token: { email: null }, userinfo: { name: null } }
  const { code = '' } = response(await ada.authorize(asks('sister', 'openid', claims)))
  t.not(code, '')
  const { id_token, access_token } = (await redeem(svc, 'sister', code, { redirect_uri: callback })).json()
  t.equal(decodeJwt(id_token).email, email)
  t.match((await svc.bearer(access_token, 'GET', '/oauth/userinfo')).json(), { name: /./ })
})

t.test('ignores members of claims that it does not know', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.allow(request('partner', { redirect_uri: callback, scope: 'openid email' }))
  for (const claims of [
    { verified_claims: { verification: null } },
    { userinfo: { 'https://claims.example/level': { essential: true }, email: null } },
    { id_token: { nickname: null, phone_number: { essential: true } }, purpose: 'x' },
    {},
  ]) {
    const stop = await ada.authorize(asks('partner', 'openid email', claims))
    t.ok(response(stop).code, JSON.stringify(claims))
  }
  for (const claims of ['{', '[]', '"x"', '{"userinfo":[]}', '{"id_token":"x"}']) {
    const stop = await ada.authorize(asks('partner', 'openid email', claims))
    t.match(response(stop), { error: 'invalid_request' }, claims)
  }
})

t.test('honours an essential acr in every spelling of JSON', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.allow(request('partner', { redirect_uri: callback, scope: 'openid' }))
  for (const name of ['acr', '\\u0061cr', '\\u0061\\u0063\\u0072']) {
    const claims = `{ "id_token": { "${name}": { "essential": true, "values": ["phr"] } } }`
    const stop = await ada.authorize(asks('partner', 'openid', claims))
    t.match(response(stop), { error: 'unmet_authentication_requirements' }, name)
  }
})
