// engine: none
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { type Settings, type TestApp, testConfig } from '../../../support/app.ts'
import { callback, Person, pkce, response, verifier } from '../../../support/oauth.ts'
import { basic, buildServer, credentials, machine, post, scopes, secret } from './parties.ts'

const code = { grants: ['authorization_code', 'refresh_token'], scopes: ['orders:read'], redirect_uris: [callback] }
const web: Settings = { client_id: 'web', type: 'confidential', secret, ...code }
const robot = machine('robot')
const asked = { client_id: 'web', response_type: 'code', redirect_uri: callback, scope: 'openid orders:read', ...pkce }

/** Activates other clients and scopes, as a reload does. */
function swap(svc: TestApp, clients: Settings[], more: Settings = {}): void {
  const next = testConfig({ scopes: { ...scopes, ...more }, clients }).current()
  svc.config.swap({ ...svc.config.current(), clients: next.clients, scopes: next.scopes })
}

const redeem = (svc: TestApp, value: string) =>
  post(
    svc,
    '/oauth/token',
    { grant_type: 'authorization_code', code: value, redirect_uri: callback, code_verifier: verifier },
    basic('web', secret),
  )

const refresh = (svc: TestApp, value: string) =>
  post(svc, '/oauth/token', { grant_type: 'refresh_token', refresh_token: value }, basic('web', secret))

t.test('serves two hundred requests while the configuration is replaced twenty times', async (t) => {
  const svc = await buildServer(t, [web, robot])
  const { email } = await svc.createUser()
  const { code: value = '' } = response(await new Person(svc, email).allow(asked))
  const { access_token } = (await redeem(svc, value)).json()
  const requests: (() => Promise<{ statusCode: number }>)[] = [
    () => post(svc, '/oauth/token', credentials, basic('robot', secret)),
    () => post(svc, '/oauth/introspect', { token: access_token }, basic('web', secret)),
    () => post(svc, '/oauth/par', asked, basic('web', secret)),
    () => svc.bearer(access_token, 'GET', '/oauth/userinfo'),
    () => svc.bearer(access_token, 'GET', '/api/user'),
    () => svc.bearer(null, 'GET', '/.well-known/openid-configuration'),
    () => svc.bearer(null, 'GET', '/.well-known/jwks.json'),
  ]
  const answers: Promise<{ statusCode: number }>[] = []
  for (let n = 0; n < 200; n++) {
    const ask = requests[n % requests.length]
    if (ask) answers.push(ask())
    if (n % 10 === 9) {
      swap(svc, [web, robot, machine(`robot${n}`)], { [`scope${n}`]: 'Another scope' })
      await setImmediate()
    }
  }
  const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode)
  t.equal(statuses.length, 200)
  t.same([...new Set(statuses)].sort(), [200, 201], 'none failed')
  t.equal(
    (await post(svc, '/oauth/token', credentials, basic('robot199', secret))).statusCode,
    200,
    'the last one is active',
  )
  t.equal((await post(svc, '/oauth/token', credentials, basic('robot189', secret))).statusCode, 401)
})

t.test('continues flows that began before the change', async (t) => {
  const svc = await buildServer(t, [web, robot])
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const signIn = await person.authorize(asked)
  swap(svc, [robot, { ...web, name: 'Another name' }])
  const stop = await person.decide(signIn)
  const { code: value = '' } = response(stop)
  swap(svc, [web])
  const first = await redeem(svc, value)
  t.equal(first.statusCode, 200, 'a code from before')
  swap(svc, [web, robot])
  const second = await refresh(svc, first.json().refresh_token)
  t.equal(second.statusCode, 200, 'a refresh token from before')
  t.equal((await svc.bearer(first.json().access_token, 'GET', '/api/user')).statusCode, 200)
  const replay = await redeem(svc, value)
  t.equal(replay.json().error, 'invalid_grant', 'and it was used')
})

t.test('revokes the tokens of a removed client, and rejects a replaced secret', async (t) => {
  const svc = await buildServer(t, [web, robot])
  const { email } = await svc.createUser()
  const { code: value = '' } = response(await new Person(svc, email).allow(asked))
  const tokens = (await redeem(svc, value)).json()
  const alive = async () => [
    (await svc.bearer(tokens.access_token, 'GET', '/api/user')).statusCode,
    (await svc.bearer(tokens.access_token, 'GET', '/oauth/userinfo')).statusCode,
    (await post(svc, '/oauth/introspect', { token: tokens.access_token }, basic('watcher', secret))).json().active,
  ]
  const watcher = machine('watcher', { secret, introspect: true })
  swap(svc, [web, watcher])
  t.same(await alive(), [200, 200, true])
  swap(svc, [watcher])
  t.same(await alive(), [401, 401, false])
  t.equal((await refresh(svc, tokens.refresh_token)).statusCode, 401)
  swap(svc, [web, watcher])
  t.same(await alive(), [200, 200, true], 'restored, it has its tokens again')
  swap(svc, [watcher])
  t.equal((await post(svc, '/oauth/token', credentials, basic('robot', secret))).statusCode, 401)

  swap(svc, [watcher, { ...web, secret: 'another-secret-of-the-client' }])
  t.equal((await refresh(svc, tokens.refresh_token)).statusCode, 401, 'the old secret')
  swap(svc, [watcher, { ...web, scopes: [] }])
  t.equal(
    (await post(svc, '/oauth/token', { ...credentials, scope: 'orders:read' }, basic('watcher', secret))).statusCode,
    200,
  )
  swap(svc, [{ ...watcher, scopes: [] }])
  const gone = await post(svc, '/oauth/token', { ...credentials, scope: 'orders:read' }, basic('watcher', secret))
  t.equal(gone.json().error, 'invalid_scope', 'a scope that was removed')
})
