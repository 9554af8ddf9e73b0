import { createLocalJWKSet, jwtVerify } from 'jose'
import t from 'tap'
import { deleteExpiredPersonalTokens } from '../../../../src/features/oauth/applications/store.ts'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import type { Browser } from '../../../support/browser.ts'
import { day } from '../../../support/clock.ts'
import { introspect, oauthSettings, revoke } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const path = '/oauth/personal-access-tokens'
const issuer = 'http://localhost:8000'
const wide = { name: 'Deploy', scopes: ['orders:read'] }

const build = (t: Parameters<typeof buildTestApp>[0], more: object = {}) =>
  buildTestApp(t, { settings: { ...oauthSettings, ...more }, clock: stopTime(t) })

async function signedIn(svc: TestApp) {
  const user = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(user.email)
  return { user, browser }
}

const make = async (browser: Browser, body: object = wide): Promise<{ accessToken: string; token: { id: string } }> =>
  (await browser.post(path, body)).json()

const status = async ({ bearer }: TestApp, token: string) => (await bearer(token, 'GET', '/api/user')).statusCode

t.test('creates a personal token, shows it once, lists and revokes it', async (t) => {
  const svc = await build(t)
  const { user, browser } = await signedIn(svc)
  const answer = await browser.post(path, { ...wide, scopes: ['orders:read', 'stock:read', 'orders:read'] })
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.headers['cache-control'], 'no-store')
  const { accessToken, token } = answer.json()
  t.strictSame(Object.keys(token), ['id', 'name', 'scopes', 'created_at', 'expires_at'])
  t.match(token, { id: /^[\w-]{43}$/, name: 'Deploy', scopes: ['orders:read', 'stock:read'] })
  t.equal(Date.parse(token.expires_at) - Date.parse(token.created_at), 90 * day)
  t.strictSame((await browser.get(path)).json(), [token])

  // Uses only the published keys and the documented claims.
  const jwks = createLocalJWKSet((await svc.app.inject('/.well-known/jwks.json')).json())
  const { payload, protectedHeader } = await jwtVerify(accessToken, jwks, { issuer, audience: issuer, typ: 'at+jwt' })
  t.equal(protectedHeader.alg, 'ES256')
  const iat = Math.floor(svc.clock.now() / 1000)
  t.strictSame(payload, {
    jti: token.id,
    client_id: 'svc-personal',
    scope: 'orders:read stock:read',
    scopes: ['orders:read', 'stock:read'],
    gid: 'personal',
    iss: issuer,
    aud: issuer,
    sub: String(user.id),
    iat,
    exp: iat + (90 * day) / 1000,
  })
  t.equal((await svc.bearer(accessToken, 'GET', '/api/user')).json().id, user.id)
  const told = await introspect(svc, 'watcher', accessToken)
  t.match(told, { active: true, client_id: 'svc-personal', scope: 'orders:read stock:read', sub: String(user.id) })
  t.same(await introspect(svc, 'machine', accessToken), { active: false }, 'not to a client with another token')
  await revoke(svc, 'machine', accessToken)
  t.equal(await status(svc, accessToken), 200, 'nor can such a client revoke it')

  t.equal((await browser.delete(`${path}/${token.id}`)).statusCode, 204)
  t.equal(await status(svc, accessToken), 401, 'gone after the answer')
  t.same(await introspect(svc, 'watcher', accessToken), { active: false })
  t.equal((await browser.delete(`${path}/${token.id}`)).statusCode, 404)
  t.strictSame((await browser.get(path)).json(), [])
  const events = await svc.database.prisma.event.findMany({ where: { type: { startsWith: 'personal_token' } } })
  t.same(events.map(({ type }) => type).sort(), ['personal_token_created', 'personal_token_revoked'])
  t.notOk(
    [...svc.logs, ...events.map(({ data }) => data)].join().includes(accessToken),
    'keeps the token out of logs and events',
  )
})

t.test('accepts only known API scopes, and ignores other fields', async (t) => {
  const svc = await build(t)
  const { user, browser } = await signedIn(svc)
  const wrong = { scopes: ['The selected scopes is invalid.'] }
  const odd = [['*'], ['openid'], ['profile'], ['orders'], ['orders:read orders:write'], ['orders:read', 'x']]
  for (const scopes of [...odd, ['toString'], ['__proto__'], ['constructor']]) {
    const answer = await browser.post(path, { ...wide, scopes })
    t.equal(answer.statusCode, 422, scopes.join())
    t.same(answer.json().errors, wrong)
  }
  for (const scopes of ['orders:read', { 0: 'orders:read' }, [1], [['orders:read']], [null]]) {
    t.equal((await browser.post(path, { ...wide, scopes })).statusCode, 422, JSON.stringify(scopes))
  }
  for (const name of [undefined, '', '  ', null, 7, ['x'], 'ü'.repeat(256)]) {
    const answer = await browser.post(path, { ...wide, name })
    t.equal(answer.statusCode, 422)
    t.same(Object.keys(answer.json().errors), ['name'])
  }
  t.equal(await svc.database.prisma.oauthPersonalToken.count(), 0)

  const other = await svc.createUser()
  const mass = {
    user_id: other.id,
    userId: other.id,
    sub: String(other.id),
    id: 'x',
    gid: 'x',
    expires_at: '2099-01-01',
  }
  const { token, accessToken } = await make(browser, { ...wide, ...mass })
  t.not(token.id, 'x')
  t.equal((await svc.bearer(accessToken, 'GET', '/api/user')).json().id, user.id)
  const [row] = await svc.database.prisma.oauthPersonalToken.findMany()
  t.equal(row?.userId, BigInt(user.id))
  t.ok(Number(row?.expiresAt) < Date.parse('2099-01-01'))
  for (const name of ['<b>&amp;"</b>', "Robert'); --", '💥 ö', '{{x}}', '%00', '../..']) {
    svc.clock.advance(1)
    await make(browser, { name, scopes: [] })
    t.equal((await browser.get(path)).json().at(-1).name, name)
  }
  const without = await make(browser, { name: 'x' })
  t.match(without.token, { scopes: [] })
  t.equal((await svc.bearer(without.accessToken, 'GET', '/orders')).statusCode, 403, 'it has no permissions')
})

t.test('limits a token to its scopes, and keeps it from managing credentials', async (t) => {
  const svc = await build(t, {
    clients: [],
    scopes: { 'check-status': 'x', 'place-orders': 'y', 'server:update': 'z' },
  })
  const { browser } = await signedIn(svc)
  const some = await make(browser, { name: 'x', scopes: ['check-status'] })
  const both = await make(browser, { name: 'x', scopes: ['check-status', 'place-orders'] })
  t.equal((await svc.bearer(some.accessToken, 'GET', '/orders')).statusCode, 403)
  t.equal((await svc.bearer(both.accessToken, 'GET', '/orders')).statusCode, 200)
  t.equal((await svc.bearer(both.accessToken, 'POST', '/tokens/create', { token_name: 'x' })).statusCode, 403)
  for (const [method, url] of [
    ['GET', path],
    ['POST', path],
    ['DELETE', `${path}/${some.token.id}`],
    ['GET', '/oauth/scopes'],
    ['GET', '/oauth/tokens'],
    ['DELETE', `/oauth/tokens/${'0'.repeat(64)}`],
    ['POST', '/oauth/token/fresh'],
  ] as const) {
    const answer = await svc.bearer(both.accessToken, method, url, method === 'POST' ? wide : undefined)
    t.equal(answer.statusCode, 401, `${method} ${url} requires a session`)
    const api = await svc.bearer(await svc.createToken(await svc.createUser()), method, url)
    t.equal(api.statusCode, 401)
  }
  t.equal(await status(svc, some.accessToken), 200)
})

t.test('requires the CSRF token of sessions, and limits them to their own tokens', async (t) => {
  const svc = await build(t)
  const [one, two] = [await signedIn(svc), await signedIn(svc)]
  const { token, accessToken } = await make(one.browser)
  for (const headers of [{ 'x-xsrf-token': 'wrong' }, { 'x-xsrf-token': undefined }]) {
    t.equal((await one.browser.post(path, wide, headers)).statusCode, 419)
    t.equal((await one.browser.delete(`${path}/${token.id}`, undefined, headers)).statusCode, 419)
    t.equal((await one.browser.post('/oauth/token/fresh', undefined, headers)).statusCode, 419)
  }
  t.strictSame((await two.browser.get(path)).json(), [])
  t.equal((await two.browser.delete(`${path}/${token.id}`)).statusCode, 404)
  for (const id of ['x', '1', '%00', 'a'.repeat(43), 'a'.repeat(5000), "' OR 1=1 --"]) {
    t.equal((await one.browser.delete(`${path}/${encodeURIComponent(id)}`)).statusCode, 404, id.slice(0, 50))
  }
  t.equal(await status(svc, accessToken), 200)
  t.equal((await one.browser.get(path)).json().length, 1)
})

t.test('accepts the token until its row, its user or its lifetime ends', async (t) => {
  const svc = await build(t, { oauth: { personal_access_token_ttl: '1h', access_token_alg: 'EdDSA' } })
  const { prisma } = svc.database
  const { user, browser } = await signedIn(svc)
  const { accessToken } = await make(browser)
  await browser.post('/logout')
  t.equal(await status(svc, accessToken), 200, 'independently of the session')
  const where = { id: BigInt(user.id) }
  await prisma.user.update({ where, data: { disabledAt: new Date() } })
  t.equal(await status(svc, accessToken), 401)
  await prisma.user.update({ where, data: { disabledAt: null } })
  svc.clock.advance(3_599_000)
  t.equal(await status(svc, accessToken), 200)
  svc.clock.advance(1_000)
  t.equal(await status(svc, accessToken), 401)
  await browser.signIn(user.email)
  t.strictSame((await browser.get(path)).json(), [], 'nor is it listed')

  const late = await make(browser)
  t.equal(await prisma.oauthPersonalToken.count(), 2)
  await deleteExpiredPersonalTokens(svc.database, svc.clock.now() + 1)
  t.same(
    (await prisma.oauthPersonalToken.findMany()).map(({ id }) => id),
    [late.token.id],
    'the daily job',
  )
  await prisma.user.delete({ where })
  t.equal(await status(svc, late.accessToken), 401)
  t.equal(await prisma.oauthPersonalToken.count(), 0)
})

t.test('creates no token in a session that ends meanwhile', async (t) => {
  const svc = await build(t)
  const { user, browser } = await signedIn(svc)
  const { database } = svc
  const transaction = database.transaction.bind(database)
  database.transaction = async (work) => {
    database.transaction = transaction
    await database.prisma.session.deleteMany({ where: { userId: BigInt(user.id) } })
    return transaction(work)
  }
  t.equal((await browser.post(path, wide)).statusCode, 401)
  t.equal(await database.prisma.oauthPersonalToken.count(), 0)
})

t.test('limits a user to 1,000 valid tokens', async (t) => {
  const svc = await build(t)
  const { user, browser } = await signedIn(svc)
  const { prisma } = svc.database
  const now = svc.clock.now()
  await prisma.oauthPersonalToken.createMany({
    data: Array.from({ length: 1_005 }, (_, index) => ({
      id: String(index).padStart(43, '0'),
      userId: BigInt(user.id),
      name: 'Old',
      scopes: '[]',
      createdAt: new Date(now - day),
      // Expired ones do not count.
      expiresAt: new Date(index < 6 ? now - 1 : now + day),
    })),
  })
  const answers = await Promise.all([browser.post(path, wide), browser.post(path, wide)])
  t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 422])
  t.same(answers.find(({ statusCode }) => statusCode === 422)?.json().errors, {
    name: ['This account already has 1,000 personal access tokens. Revoke one first.'],
  })
  t.equal((await browser.get(path)).json().length, 1_000)
})
