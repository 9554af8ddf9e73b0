// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import {
  clients,
  codeFlow,
  exchangeClient,
  oauthSettings,
  Person,
  passwordClient,
  post,
  refresh,
  request,
  response,
  token,
} from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const settings = {
  ...oauthSettings,
  clients: [...clients, passwordClient, exchangeClient],
}

t.test('ignores scopes that svc does not know, at every endpoint that takes scopes', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const ada = new Person(svc, email)

  const web = await codeFlow(svc, ada, 'web', { scope: 'openid address phone orders:read none:such *' })
  t.equal(web.scope, 'openid orders:read')
  const renewed = await refresh(svc, 'web', web.refresh_token, { scope: 'openid address orders:read' })
  t.match(renewed.json(), { scope: 'openid orders:read' }, 'a client may repeat the scopes that it requested')

  const pushed = await post(svc, '/oauth/par', 'web', request('web', { scope: 'openid phone' }))
  const stop = await ada.authorize({ client_id: 'web', request_uri: pushed.json().request_uri })
  t.match(response(stop), { code: /./ }, 'pushed')

  const begun = (await post(svc, '/oauth/device/code', 'tv', { scope: 'orders:read address' })).json()
  const typed = await ada.press(await ada.go('/oauth/device'), { user_code: begun.user_code })
  await ada.decide(await ada.press(typed, { confirm: 'yes' }))
  const device_code = begun.device_code
  const device = await token(svc, 'tv', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code })
  t.match(device.json(), { scope: 'orders:read' })

  const machine = await token(svc, 'machine', { grant_type: 'client_credentials', scope: 'orders:read none:such' })
  t.match(machine.json(), { scope: 'orders:read' })
  const fields = {
    grant_type: 'password',
    username: email,
    password: 'correct horse',
    scope: 'orders:read Orders:read',
  }
  t.match((await token(svc, 'legacy', fields)).json(), { scope: 'orders:read' })
  const exchanged = await token(svc, 'gateway', {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: web.access_token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    scope: 'orders:read phone',
  })
  t.match(exchanged.json(), { scope: 'orders:read' })
})

t.test('grants no more than requested if all requested scopes are unknown', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  t.equal((await codeFlow(svc, new Person(svc, email), 'web', { scope: 'address' })).scope, 'openid')
  const machine = (await token(svc, 'machine', { grant_type: 'client_credentials', scope: 'none:such' })).json()
  t.equal(machine.scope, undefined)
  t.same(decodeJwt(machine.access_token).scopes, [])
  const fields = { grant_type: 'password', username: email, password: 'correct horse', scope: 'phone' }
  t.match((await token(svc, 'legacy', fields)).json(), { scope: 'openid' })
  const web = await codeFlow(svc, new Person(svc, email), 'web', { scope: 'openid orders:read' })
  const renewed = (await refresh(svc, 'web', web.refresh_token, { scope: 'phone' })).json()
  t.equal(renewed.scope, 'openid orders:read', 'a refresh keeps its scopes')
  const exchanged = await token(svc, 'gateway', {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: renewed.access_token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    scope: 'phone',
  })
  t.match([exchanged.statusCode, exchanged.json().error], [400, 'invalid_scope'])
})

t.test('rejects a registered scope that the client does not list', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  for (const scope of ['openid stock:read', 'openid address stock:read', 'openid roles']) {
    t.match(response(await ada.authorize(request('web', { scope }))), { error: 'invalid_scope' }, scope)
    const pushed = await post(svc, '/oauth/par', 'web', request('web', { scope }))
    t.match([pushed.statusCode, pushed.json().error], [400, 'invalid_scope'], `pushed: ${scope}`)
  }
  for (const scope of ['stock:read', 'roles']) {
    const answer = await token(svc, 'machine', { grant_type: 'client_credentials', scope })
    t.match([answer.statusCode, answer.json().error], [400, 'invalid_scope'], scope)
  }
})
