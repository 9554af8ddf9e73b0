// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import {
  clients,
  codeFlow,
  exchangeClient,
  introspect,
  oauthSettings,
  Person,
  passwordClient,
  post,
  refresh,
  token,
} from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'

const settings = {
  ...oauthSettings,
  clients: [...clients, passwordClient, exchangeClient],
}

t.test('revokes the JWT that authenticates POST /logout, whatever grant issued it', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const user = await svc.createUser()
  const ada = new Person(svc, user.email)
  const web = await codeFlow(svc, ada, 'web', { scope: 'openid orders:read' })

  const begun = (await post(svc, '/oauth/device/code', 'tv', {})).json()
  const typed = await ada.press(await ada.go('/oauth/device'), { user_code: begun.user_code })
  await ada.decide(await ada.press(typed, { confirm: 'yes' }))
  const device = await token(svc, 'tv', {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: begun.device_code,
  })
  const password = await token(svc, 'legacy', {
    grant_type: 'password',
    username: user.email,
    password: 'correct horse',
  })
  const exchanged = await token(svc, 'gateway', {
    grant_type: exchangeGrant,
    subject_token: web.access_token,
    subject_token_type: accessTokenType,
  })
  const machine = await token(svc, 'machine', { grant_type: 'client_credentials' })
  const page = svc.browser()
  await page.signIn(user.email)
  const personal = await page.post('/oauth/personal-access-tokens', { name: 'laptop', scopes: ['orders:read'] })
  const fresh = await page.post('/oauth/token/fresh', {})

  const tokens = {
    code: web.access_token,
    device: device.json().access_token,
    password: password.json().access_token,
    exchange: exchanged.json().access_token,
    'client credentials': machine.json().access_token,
    personal: personal.json().accessToken,
    fresh: fresh.json().access_token,
  }
  // The exchanged token may end with its subject token, so it is revoked first.
  for (const kind of ['exchange', ...Object.keys(tokens)].filter((name, at, all) => all.indexOf(name) === at)) {
    const jwt: string = tokens[kind as keyof typeof tokens]
    t.match(await introspect(svc, 'watcher', jwt), { active: true }, `${kind}: active before`)
    const answer = await svc.bearer(jwt, 'POST', '/logout')
    t.equal(answer.statusCode, 200, `${kind}: ${answer.body}`)
    t.same(answer.json(), { message: 'Logged out.' })
    const again = await svc.bearer(jwt, 'POST', '/logout')
    t.equal(again.statusCode, 401, `${kind}: rejected by the guard`)
    t.match(again.headers['www-authenticate'], /error="invalid_token"/)
    t.same(await introspect(svc, 'watcher', jwt), { active: false }, `${kind}: inactive`)
  }

  t.same((await page.get('/oauth/personal-access-tokens')).json(), [], 'the personal token is no longer listed')
  t.equal((await page.get('/api/user')).statusCode, 200, 'the browser session continues')
  t.equal((await refresh(svc, 'web', web.refresh_token)).statusCode, 200, 'the client stays connected')
  const events = await svc.database.prisma.event.findMany({ where: { type: { endsWith: 'token_revoked' } } })
  t.equal(events.length, 7, 'each revocation is recorded')
})

t.test('rejects POST /logout with an invalid JWT', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const { access_token } = (await token(svc, 'machine', { grant_type: 'client_credentials' })).json()
  const answer = await svc.bearer(`${access_token.slice(0, -4)}AAAA`, 'POST', '/logout')
  t.equal(answer.statusCode, 401)
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 403, 'the valid token still works')
})
