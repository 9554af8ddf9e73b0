// engine: none
import { hash } from 'node:crypto'
import { decodeJwt } from 'jose'
import t from 'tap'
import { minute, second } from '../../../support/clock.ts'
import { clients, codeFlow, post, request, response, verifier } from '../../../support/oauth.ts'
import { travel } from '../../../support/time.ts'
import { newKey, post as postForm, proof } from '../clients/parties.ts'
import { build, ScriptedPerson } from './people.ts'

const abilities = ['server:update', 'check-status', 'place-orders', 'view-tasks']
const settings = (step_up: object[]) => ({
  guard: { step_up },
  scopes: Object.fromEntries(abilities.map((name) => [name, name])),
  clients: clients.map((client) => ({ ...client, scopes: [...abilities] })),
})
const scope = `openid ${abilities.join(' ')}`
const rename = { name: 'web-1' }

t.test('challenges a JWT without the second factor that its ability requires', async (t) => {
  const svc = await build(t, settings([{ ability: 'server:update', acr: '2' }]))
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  const weak = (await codeFlow(svc, ada, 'web', { scope })).access_token
  t.equal(decodeJwt(weak).acr, '1')
  const refused = await svc.bearer(weak, 'PUT', '/server/1', rename)
  t.equal(refused.statusCode, 401)
  t.same(refused.json(), { message: 'A stronger or more recent sign-in is required.', code: 'unauthenticated' })
  const challenge = 'Bearer error="insufficient_user_authentication", acr_values="2 phr"'
  t.equal(refused.headers['www-authenticate'], challenge)
  t.equal((await svc.bearer(weak, 'GET', '/api/task')).statusCode, 200, 'other abilities work')

  await ada.press(await ada.authorize(stepUpRequest), { code: ada.code() })
  const strong = (await codeFlow(svc, ada, 'web', { scope, acr_values: '2 phr' })).access_token
  t.equal((await svc.bearer(strong, 'PUT', '/server/1', rename)).statusCode, 200)
})

const stepUpRequest = {
  client_id: 'web',
  response_type: 'code',
  redirect_uri: 'http://localhost:9999/cb',
  scope,
  acr_values: '2 phr',
}

t.test('challenges a JWT whose sign-in is too old, also where one of several abilities suffices', async (t) => {
  const old = { max_age: '5m' }
  const rules = ['view-tasks', 'check-status', 'place-orders'].map((ability) => ({ ability, ...old }))
  const svc = await build(t, settings(rules))
  const ada = await ScriptedPerson.signedIn(svc)
  const token = (await codeFlow(svc, ada, 'web', { scope })).access_token
  const paths = ['/api/task', '/orders', '/orders?any=1']
  for (const path of paths) t.equal((await svc.bearer(token, 'GET', path)).statusCode, 200, path)
  travel(svc, 5 * minute + second)
  for (const path of paths) {
    const { statusCode, headers } = await svc.bearer(token, 'GET', path)
    t.equal(statusCode, 401, path)
    t.equal(headers['www-authenticate'], 'Bearer error="insufficient_user_authentication", max_age="300"')
  }
  const silent = (await codeFlow(svc, ada, 'web', { scope })).access_token
  t.equal((await svc.bearer(silent, 'GET', '/api/task')).statusCode, 401, 'a new token of an old sign-in')
  const renewed = (await codeFlow(svc, ada, 'web', { scope, max_age: '300' })).access_token
  t.equal((await svc.bearer(renewed, 'GET', '/api/task')).statusCode, 200)
})

t.test('challenges a DPoP-bound JWT with the scheme DPoP', async (t) => {
  const svc = await build(t, settings([{ ability: 'view-tasks', acr: '2', max_age: '5m' }]))
  const key = await newKey('ES256')
  const ada = await ScriptedPerson.signedIn(svc)
  const { code = '' } = response(await ada.allow(request('spa', { scope })))
  const fields = { grant_type: 'authorization_code', client_id: 'spa', code, code_verifier: verifier }
  const { redirect_uri = '' } = request('spa')
  const dpop = await proof(key, 'POST', '/oauth/token')
  const redeemed = await postForm(svc, '/oauth/token', { ...fields, redirect_uri }, { dpop })
  const { access_token, token_type } = redeemed.json()
  t.equal(token_type, 'DPoP')
  const ath = hash('sha256', access_token, 'base64url')
  const refused = await svc.app.inject({
    url: '/api/task',
    headers: { authorization: `DPoP ${access_token}`, dpop: await proof(key, 'GET', '/api/task', { ath }) },
  })
  t.equal(refused.statusCode, 401)
  t.equal(
    refused.headers['www-authenticate'],
    'DPoP error="insufficient_user_authentication", acr_values="2 phr", max_age="300"',
  )
})

t.test('applies the requirements of an ability to JWTs of users only', async (t) => {
  const svc = await build(t, settings([{ ability: 'view-tasks', acr: '1', max_age: '5m' }]))
  const ada = await ScriptedPerson.signedIn(svc)
  const { browser } = ada.plain
  const personal = (
    await browser.post('/oauth/personal-access-tokens', { name: 'laptop', scopes: [...abilities] })
  ).json()
  const apiToken = await svc.createToken(ada.user, { abilities })
  const machine = (await post(svc, '/oauth/token', 'machine', { grant_type: 'client_credentials' })).json()
  const status = async (token: string) => (await svc.bearer(token, 'GET', '/api/task')).statusCode
  t.equal(await status(personal.accessToken), 401, 'a personal access token has no sign-in')
  t.equal(await status(apiToken), 200)
  t.equal(await status(machine.access_token), 200)
  t.equal((await browser.get('/api/task')).statusCode, 200)
  t.equal((await svc.bearer(await svc.createToken(ada.user, { abilities: [] }), 'GET', '/api/task')).statusCode, 403)
})
