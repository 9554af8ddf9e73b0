// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { hour } from '../../support/clock.ts'
import { codeFlow, oauthSettings, Person, token } from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'

const current = (svc: TestApp, text: string | null) => svc.bearer(text, 'GET', '/api/tokens/current')

const wire = (date: Date) => `${date.toISOString().slice(0, -1)}000Z`

t.test('returns what an API token may do, without its secret', async (t) => {
  const svc = await buildTestApp(t, { settings: { expiration: '120m' }, clock: stopTime(t) })
  const ada = await svc.createUser()
  const expiresAt = new Date(svc.clock.now() + hour)
  const text = await svc.createToken(ada, { name: 'Ädas phone', abilities: ['orders:read', 'a b'], expiresAt })
  const [id, secret = ''] = text.split('|')
  const answer = await current(svc, text)
  t.equal(answer.statusCode, 200, answer.body)
  t.strictSame(answer.json(), {
    kind: 'token',
    id,
    name: 'Ädas phone',
    abilities: ['orders:read', 'a b'],
    expires_at: wire(expiresAt),
  })
  t.notOk(answer.body.includes(secret), 'no secret')
  t.notOk(/[0-9a-f]{64}/.test(answer.body), 'no hash')
  t.equal(answer.headers['cache-control'], 'no-store')
  const endless = await svc.createToken(ada, { abilities: [] })
  t.match((await current(svc, endless)).json(), {
    abilities: [],
    expires_at: wire(new Date(svc.clock.now() + 2 * hour)),
  })
})

t.test('returns null as the expiry of a token without one', async (t) => {
  const svc = await buildTestApp(t)
  const text = await svc.createToken(await svc.createUser())
  t.match((await current(svc, text)).json(), { kind: 'token', abilities: ['*'], expires_at: null })
})

t.test('returns what a JWT and a session may do', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(ada.email)
  const session = await spa.get('/api/tokens/current')
  const [{ id }] = (await spa.get('/user/sessions')).json()
  t.strictSame(session.json(), { kind: 'session', id, name: null, abilities: ['*'], expires_at: null })

  const { access_token } = await codeFlow(svc, new Person(svc, ada.email), 'web', { scope: 'openid orders:read' })
  const { jti, exp = 0 } = decodeJwt(access_token)
  t.strictSame((await current(svc, access_token)).json(), {
    kind: 'jwt',
    id: jti,
    name: null,
    abilities: ['openid', 'orders:read'],
    expires_at: wire(new Date(exp * 1000)),
  })
  const machine: string = (await token(svc, 'machine', { grant_type: 'client_credentials' })).json().access_token
  t.match((await current(svc, machine)).json(), { kind: 'jwt', name: null, abilities: ['orders:read'] })
  const body = { name: 'Backup script', scopes: ['orders:write'] }
  const personal = (await spa.post('/oauth/personal-access-tokens', body)).json()
  t.match((await current(svc, personal.accessToken)).json(), {
    kind: 'jwt',
    id: personal.token.id,
    name: 'Backup script',
    abilities: ['orders:write'],
  })
})

t.test('rejects missing, invalid, expired and revoked credentials with 401', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = await svc.createUser()
  const text = await svc.createToken(ada)
  const expired = await svc.createToken(ada, { expiresAt: new Date(svc.clock.now()) })
  const machine: string = (await token(svc, 'machine', { grant_type: 'client_credentials' })).json().access_token
  for (const bad of [null, 'x', `${text}x`, `9${text}`, expired, `${machine}x`, '1|', 'a.b.c']) {
    const answer = await current(svc, bad)
    t.equal(answer.statusCode, 401, String(bad))
    t.match(answer.json(), { message: 'Unauthenticated.', code: 'unauthenticated' })
  }
  t.equal((await svc.bearer(text, 'DELETE', '/api/tokens/current')).statusCode, 200)
  t.equal((await current(svc, text)).statusCode, 401, 'revoked')
})
