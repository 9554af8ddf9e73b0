// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import {
  callback,
  clients,
  codeFlow,
  oauthSettings,
  Person,
  partner,
  request,
  response,
  token,
} from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const settings = {
  ...oauthSettings,
  clients: [
    ...clients,
    partner('partner'),
    partner('slim', { id_token_claims: false }),
    partner('full', { id_token_claims: true }),
    partner('sister', { first_party: true }),
  ],
}

const asked = (client: string, scope: string, more: Record<string, string> = {}) =>
  request(client, { redirect_uri: callback, scope, ...more })

const all = 'openid profile email roles'
const protocolClaims = ['amr', 'at_hash', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'nonce', 'sub', 'sid', 'acr']
const claimNames = (idToken: string | undefined): string[] =>
  Object.keys(decodeJwt(idToken ?? ''))
    .filter((name) => !protocolClaims.includes(name))
    .sort()

t.test('serves claims by scope at UserInfo', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const { id, email, name, username, updated_at } = await svc.createUser({ role: 'editor' })
  const ada = new Person(svc, email)
  const sub = String(id)
  const seconds = Math.floor(Date.parse(updated_at) / 1000)
  const cases: [string, object][] = [
    ['openid', { sub }],
    ['openid profile', { sub, name, preferred_username: username, updated_at: seconds }],
    ['openid email', { sub, email, email_verified: true }],
    ['openid roles', { sub, roles: ['editor'] }],
    ['openid groups', { sub, groups: [] }],
    [
      'openid profile email',
      { sub, name, preferred_username: username, updated_at: seconds, email, email_verified: true },
    ],
  ]
  for (const [scope, claims] of cases) {
    const { access_token } = await codeFlow(svc, ada, 'partner', { redirect_uri: callback, scope })
    t.same((await svc.bearer(access_token, 'GET', '/oauth/userinfo')).json(), claims, scope)
  }
})

t.test('keeps preferred_username when an address is verified', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const { id, email, username } = await svc.createUser({ verified: false })
  const tokens = await codeFlow(svc, new Person(svc, email), 'partner', { redirect_uri: callback, scope: all })
  t.match(decodeJwt(tokens.id_token ?? ''), { preferred_username: username, email, email_verified: false })
  await svc.database.prisma.user.update({
    where: { id: BigInt(id) },
    data: { emailVerifiedAt: new Date(), name: 'Eve' },
  })
  const later = await codeFlow(svc, new Person(svc, email), 'partner', { redirect_uri: callback, scope: all })
  t.match(decodeJwt(later.id_token ?? ''), { preferred_username: username, name: 'Eve', email_verified: true })
})

t.test('includes the claims of the granted scopes in ID tokens by default', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const slim = { ...settings, oauth: { id_token_claims: false } }
  const other = await buildTestApp(t, { settings: slim, clock: svc.clock })
  const everything = ['email', 'email_verified', 'name', 'preferred_username', 'roles', 'updated_at']
  const cases: [typeof svc, string, string[]][] = [
    [svc, 'partner', everything],
    [svc, 'slim', []],
    [other, 'partner', []],
    [other, 'full', everything],
  ]
  for (const [at, client, claims] of cases) {
    const { email } = await at.createUser()
    const ada = new Person(at, email)
    const tokens = await codeFlow(at, ada, client, { redirect_uri: callback, scope: all })
    t.same(claimNames(tokens.id_token), claims, `${client}: code`)
    const refresh_token = tokens.refresh_token
    const renewed = (await token(at, client, { grant_type: 'refresh_token', refresh_token })).json()
    t.same(claimNames(renewed.id_token), claims, `${client}: refresh`)
    const fields = { grant_type: 'password', username: email, password: 'correct horse', scope: all }
    t.same(claimNames((await token(at, client, fields)).json().id_token), claims, `${client}: password`)
    const userinfo = (await at.bearer(tokens.access_token, 'GET', '/oauth/userinfo')).json()
    t.same(Object.keys(userinfo).sort(), [...everything, 'sub'].sort(), `${client}: UserInfo always serves them`)
  }
})

t.test('adds single claims to a slim ID token by the claims parameter', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const claims = JSON.stringify({ id_token: { email: null, groups: null } })
  const more = { redirect_uri: callback, scope: 'openid profile', claims }
  const tokens = await codeFlow(svc, new Person(svc, (await svc.createUser()).email), 'slim', more)
  t.same(claimNames(tokens.id_token), ['email', 'groups'])
})

t.test('never reveals the role to a client without the scope roles', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser({ role: 'editor' })).email)
  t.match(response(await ada.allow(request('web', { scope: 'openid roles' }))), { error: 'invalid_scope' })
  const claims = JSON.stringify({ userinfo: { roles: null, groups: null }, id_token: { roles: null } })
  const tokens = await codeFlow(svc, ada, 'web', { scope: 'openid profile email', claims })
  t.notMatch(JSON.stringify(decodeJwt(tokens.id_token ?? '')), 'editor')
  t.notMatch((await svc.bearer(tokens.access_token, 'GET', '/oauth/userinfo')).body, 'editor')
})

t.test('asks for the role on the consent page only if the client may read it', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  t.match((await ada.authorize(asked('partner', 'openid roles'))).answer.body, 'Read your role')
  const claims = JSON.stringify({ userinfo: { roles: null, email: null } })
  t.match((await ada.authorize(asked('partner', 'openid', { claims }))).answer.body, 'Read your role')
  const { body } = (await ada.authorize(request('web', { scope: 'openid', claims }))).answer
  t.match(body, 'Read your email address')
  t.notMatch(body, 'Read your role')
})

t.test("limits a third party's token at /api/user by its scopes", async (t) => {
  const svc = await buildTestApp(t, { settings: { ...settings, test_page: true }, clock: stopTime(t) })
  const user = await svc.createUser({ role: 'editor' })
  const ada = new Person(svc, user.email)
  const { id, name, username, email, email_verified_at, role, created_at, updated_at } = user
  const cases: [string, object][] = [
    ['orders:read', { id }],
    ['openid', { id }],
    ['openid profile', { id, name, username, created_at, updated_at }],
    ['openid email', { id, email, email_verified_at }],
    ['openid roles', { id, role }],
    [all, { id, name, username, email, email_verified_at, role, created_at, updated_at }],
  ]
  for (const [scope, seen] of cases) {
    const { access_token } = await codeFlow(svc, ada, 'partner', { redirect_uri: callback, scope })
    for (const path of ['/api/user', '/test-user']) {
      t.same((await svc.bearer(access_token, 'GET', path)).json(), seen, `${path}: ${scope}`)
    }
  }
})

t.test('returns the whole user at /api/user for sessions, API tokens and first-party JWTs', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const user = await svc.createUser({ role: 'editor' })
  const { disabled: _disabled, language: _language, ...whole } = user
  const page = svc.browser()
  await page.signIn(user.email)
  const sister = await codeFlow(svc, new Person(svc, user.email), 'sister', { redirect_uri: callback, scope: 'openid' })
  const bearers = {
    'API token': await svc.createToken(user, { abilities: [] }),
    fresh: (await page.post('/oauth/token/fresh', {})).json().access_token,
    personal: (await page.post('/oauth/personal-access-tokens', { name: 'laptop' })).json().accessToken,
    'first-party client': sister.access_token,
  }
  t.same((await page.get('/api/user')).json(), whole, 'session')
  for (const [kind, bearer] of Object.entries(bearers)) {
    t.same((await svc.bearer(bearer, 'GET', '/api/user')).json(), whole, kind)
  }
})
