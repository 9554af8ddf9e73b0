// engine: none
import { createLocalJWKSet, jwtVerify } from 'jose'
import t from 'tap'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { hour, minute } from '../../../support/clock.ts'
import { introspect, oauthSettings } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const issuer = 'http://localhost:8000'

const build = (t: Parameters<typeof buildTestApp>[0], more: object = {}) =>
  buildTestApp(t, { settings: { ...oauthSettings, ...more }, clock: stopTime(t) })

const status = async ({ bearer }: TestApp, token: string) => (await bearer(token, 'GET', '/api/user')).statusCode

async function signedIn(svc: TestApp, email?: string, more: object = {}) {
  const browser = svc.browser()
  await browser.signIn(email ?? (await svc.createUser()).email, undefined, more)
  return { browser, fresh: async () => (await browser.post('/oauth/token/fresh')).json().access_token as string }
}

t.test('issues a fresh token with every scope to a signed-in page', async (t) => {
  const svc = await build(t)
  const user = await svc.createUser()
  const { browser } = await signedIn(svc, user.email)
  t.strictSame((await browser.get('/oauth/scopes')).json(), [
    { id: 'orders:read', description: 'See your orders' },
    { id: 'orders:write', description: 'Change your orders' },
    { id: 'stock:read', description: 'See the stock' },
  ])
  const answer = await browser.post('/oauth/token/fresh')
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.headers['cache-control'], 'no-store')
  t.match(answer.json(), { token_type: 'Bearer', expires_in: 900 })
  t.strictSame(Object.keys(answer.json()), ['access_token', 'token_type', 'expires_in'])
  const jwks = createLocalJWKSet((await svc.app.inject('/.well-known/jwks.json')).json())
  const token = answer.json().access_token
  const { payload } = await jwtVerify(token, jwks, { issuer, audience: issuer, typ: 'at+jwt' })
  const scopes = ['orders:read', 'orders:write', 'stock:read']
  const iat = Math.floor(svc.clock.now() / 1000)
  t.match(payload, { sub: String(user.id), client_id: 'svc-first-party', scopes, iat, exp: iat + 900 })
  t.match(payload, { scope: scopes.join(' '), gid: /^session:/, jti: /^[\w-]{43}$/ })
  const cookie = (await browser.cookie('svc_session')) ?? ''
  t.ok(
    cookie !== '' && !JSON.stringify(payload).includes(cookie.split('.')[0] ?? ''),
    'rather than what the cookie says',
  )
  t.equal(await status(svc, token), 200)
  t.match(await introspect(svc, 'watcher', token), { active: true, client_id: 'svc-first-party' })
  t.equal((await svc.browser().post('/oauth/token/fresh')).statusCode, 401)
})

t.test('revokes the fresh token when its own session ends', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser()
  const [one, two, three, four] = await Promise.all([1, 2, 3, 4].map(() => signedIn(svc, email)))
  if (!one || !two || !three || !four) throw new Error('A browser is missing.')
  const tokens = await Promise.all([one.fresh(), two.fresh(), three.fresh(), four.fresh()])
  const alive = () => Promise.all(tokens.map((token) => status(svc, token)))
  t.same(await alive(), [200, 200, 200, 200])
  await one.browser.post('/logout')
  t.same(await alive(), [401, 200, 200, 200], 'signed out')
  const sessions: { id: string; current: boolean }[] = (await two.browser.get('/user/sessions')).json()
  const { payload } = JSON.parse(`{"payload":${Buffer.from(tokens[2]?.split('.')[1] ?? '', 'base64url').toString()}}`)
  const third = sessions.find(({ id }) => payload.gid === `session:${id}`)
  t.equal((await two.browser.delete(`/user/sessions/${third?.id}`)).statusCode, 200)
  t.same(await alive(), [401, 200, 401, 200], 'ended from another browser')
  const password = 'violet engine on the hill'
  const body = { current_password: 'correct horse', password, password_confirmation: password }
  t.equal((await two.browser.put('/user/password', body)).statusCode, 200)
  t.same((await alive())[3], 401, 'the password changed at another browser')
})

t.test('rejects the fresh token of a disabled or deleted user, or of an expired session', async (t) => {
  const svc = await build(t, { oauth: { access_token_ttl: '3h' }, session: { lifetime: '60m' } })
  const { prisma } = svc.database
  const user = await svc.createUser()
  const { fresh } = await signedIn(svc, user.email)
  const token = await fresh()
  const where = { id: BigInt(user.id) }
  await prisma.user.update({ where, data: { disabledAt: new Date() } })
  t.equal(await status(svc, token), 401)
  await prisma.user.update({ where, data: { disabledAt: null } })
  t.equal(await status(svc, token), 200)
  svc.clock.advance(2 * hour)
  t.equal(await status(svc, token), 401, 'the session idled out')
  const other = await signedIn(svc, user.email)
  const last = await other.fresh()
  svc.clock.advance(50 * minute)
  await other.browser.get('/api/user')
  t.equal(await status(svc, last), 200)
  const one = await other.fresh()
  await prisma.user.delete({ where })
  t.equal(await status(svc, one), 401)
})

t.test('expires the fresh token at its own expiry', async (t) => {
  const svc = await build(t)
  const { browser, fresh } = await signedIn(svc)
  const token = await fresh()
  svc.clock.advance(15 * minute)
  t.equal((await browser.get('/api/user')).statusCode, 200, 'the session still exists')
  t.equal(await status(svc, token), 401)
  t.equal(await status(svc, await fresh()), 200)
})

t.test('issues a fresh token to a remembered browser for its new session', async (t) => {
  const svc = await build(t, { session: { lifetime: '60m' } })
  const { browser, fresh } = await signedIn(svc, undefined, { remember: true })
  svc.clock.advance(2 * hour)
  await browser.get('/svc/csrf-cookie')
  const token = await fresh()
  t.equal(await status(svc, token), 200)
  await browser.post('/logout')
  t.equal(await status(svc, token), 401)
})
