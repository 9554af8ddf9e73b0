import t from 'tap'
import { sha256Hex } from '../../../src/platform/crypto/hash.ts'
import { hashPassword } from '../../../src/platform/crypto/password.ts'
import { buildTestApp } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'
import { day, hour, minute } from '../../support/clock.ts'
import { present, rememberedBrowser, sessionCount, spaHeaders, tokens } from './remembered.ts'
import { cookieNames, cookiesOf, pair } from './set-cookies.ts'

t.test('accepts remember in every form that clients send', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const cases: [unknown, boolean][] = [
    ...[true, 1, '1', 'true', 'on', 'yes', 'TRUE'].map((flag): [unknown, boolean] => [flag, true]),
    ...[undefined, null, false, 0, '0', 'false', 'off', 'no', '', 2, [], {}, ['1'], 'x'].map(
      (flag): [unknown, boolean] => [flag, false],
    ),
  ]
  for (const [remember, expected] of cases) {
    const answer = await svc.browser().signIn(user.email, undefined, { remember })
    t.equal(answer.statusCode, 200, answer.body)
    const cookie = cookiesOf(answer).svc_remember
    t.equal(cookie !== undefined, expected, JSON.stringify(remember))
    if (cookie) t.match(cookie, { httpOnly: true, sameSite: 'lax', path: '/', maxAge: 400 * 86_400, secure: false })
  }
})

t.test('ignores an invalid cookie without changing the row', async (t) => {
  const svc = await buildTestApp(t)
  const { cookie = '' } = await rememberedBrowser(svc)
  const [row] = await tokens(svc)
  t.equal(row?.tokenHash, sha256Hex(cookie.split('.')[1] ?? ''), 'only the hash is stored')
  const [id = '', secret = ''] = cookie.split('.')
  const wrong = [
    `${id}.${'A'.repeat(43)}`,
    `${id}.${secret.slice(0, -1)}`,
    `${Number(id) + 1}.${secret}`,
    `0${id}.${secret}x`,
    `${id}|${secret}`,
    `-${id}.${secret}`,
    `99999999999999999999.${secret}`,
    `999999999999999999.${secret}`,
    `${id}.${row?.tokenHash}`,
    secret,
    '.',
    '',
  ]
  for (const value of wrong) {
    t.equal((await present(svc, value)).statusCode, 401, value)
    const login = svc.browser()
    await login.jar.setCookie(`svc_remember=${value}; Path=/`, 'http://localhost:8000/')
    t.equal((await login.signIn((await svc.createUser()).email)).statusCode, 200)
  }
  t.strictSame((await tokens(svc))[0], row)
  t.equal((await present(svc, cookie)).statusCode, 200)
})

t.test('does not use up the remember cookie in a rejected request', async (t) => {
  const svc = await buildTestApp(t)
  const { cookie } = await rememberedBrowser(svc)
  const before = await tokens(svc)
  const headers = { ...spaHeaders, cookie: `svc_remember=${cookie}` }
  const post = (url: string, more: object = {}) =>
    svc.app.inject({ method: 'POST', url, headers: { ...headers, ...more }, payload: { token_name: 'x' } })
  t.equal((await post('/api/tokens/create')).statusCode, 419)
  t.equal((await post('/logout', { 'sec-fetch-site': 'cross-site' })).statusCode, 419)
  t.equal((await post('/login')).statusCode, 419)
  t.equal(
    (await svc.app.inject({ url: '/api/user', headers: { ...headers, origin: 'http://evil.example' } })).statusCode,
    401,
  )
  t.equal((await svc.app.inject({ url: '/api/user', headers: { ...headers, origin: 'null' } })).statusCode, 401)
  t.equal((await present(svc, cookie, '/nowhere')).statusCode, 404)
  t.equal((await post('/api/tokens/create', { 'content-type': 'text/plain' })).statusCode, 415)
  t.strictSame(await tokens(svc), before)
  t.equal(await sessionCount(svc), 0)
  t.equal((await post('/api/tokens/create', { 'sec-fetch-site': 'same-origin' })).statusCode, 200)
  t.equal(await sessionCount(svc), 1)
})

t.test('resumes a session on session and guard routes, and for unsafe requests with a valid XSRF token', async (t) => {
  const svc = await buildTestApp(t)
  const guest = await rememberedBrowser(svc)
  t.strictSame(cookieNames(await guest.spa.get('/svc/csrf-cookie')), [
    'XSRF-TOKEN',
    'svc_browser',
    'svc_remember',
    'svc_session',
  ])
  t.equal(await sessionCount(svc), 1)
  t.equal((await guest.spa.get('/api/user')).json().id, guest.user.id)
  const unsafe = await rememberedBrowser(svc)
  const old = await unsafe.spa.cookie('XSRF-TOKEN')
  const made = await unsafe.spa.post('/api/tokens/create', { token_name: 'x' })
  t.equal(made.statusCode, 200, 'the ended id still carries its XSRF value')
  t.not(await unsafe.spa.cookie('XSRF-TOKEN'), old)
  t.equal((await unsafe.spa.post('/api/tokens/create', { token_name: 'x' })).statusCode, 200)
  t.equal((await unsafe.spa.post('/api/tokens/create', {}, { 'x-xsrf-token': old })).statusCode, 419)
})

t.test('ends a remembered browser on logout, password change, account deletion and expiry', async (t) => {
  const svc = await buildTestApp(t)
  const { prisma } = svc.database
  const out = await rememberedBrowser(svc)
  await out.spa.get('/api/user')
  const current = await out.spa.cookie('svc_remember')
  t.strictSame(cookieNames(await out.spa.post('/logout')), ['XSRF-TOKEN', 'svc_remember', 'svc_session'])
  t.equal(await out.spa.cookie('svc_remember'), undefined)
  for (const cookie of [current, out.cookie]) t.equal((await present(svc, cookie)).statusCode, 401)

  const changed = await rememberedBrowser(svc)
  const where = { id: BigInt(changed.user.id) }
  await prisma.user.update({ where, data: { password: hashPassword('another one') } })
  t.equal((await present(svc, changed.cookie)).statusCode, 401)

  const disabled = await rememberedBrowser(svc)
  await prisma.user.update({ where: { id: BigInt(disabled.user.id) }, data: { disabledAt: new Date() } })
  t.equal((await present(svc, disabled.cookie)).statusCode, 401)

  const deleted = await rememberedBrowser(svc)
  await prisma.user.delete({ where: { id: BigInt(deleted.user.id) } })
  t.equal((await present(svc, deleted.cookie)).statusCode, 401)

  const old = await rememberedBrowser(svc)
  svc.clock.advance(400 * day - 3 * hour - minute)
  const late = await present(svc, old.cookie)
  t.equal(late.statusCode, 200)
  svc.clock.advance(minute)
  t.equal((await present(svc, cookiesOf(late).svc_remember?.value)).statusCode, 401, 'use does not extend the lifetime')
})

t.test("removes the previous user's session and device when another user signs in", async (t) => {
  const svc = await buildTestApp(t)
  const other = await svc.createUser()
  const { user, spa, cookie } = await rememberedBrowser(svc)
  await spa.get('/svc/csrf-cookie')
  const session = await spa.cookie('svc_session')
  const failed = await spa.post('/login', { email: other.email, password: 'wrong' })
  t.equal(failed.statusCode, 401)
  t.equal((await spa.get('/api/user')).json().id, user.id, 'a failure keeps it')
  const mine = await spa.cookie('svc_remember')
  const login = await spa.post('/login', { email: other.email, password: 'correct horse' })
  t.equal(login.statusCode, 200)
  t.equal(await spa.cookie('svc_remember'), undefined)
  t.equal((await spa.get('/api/user')).json().id, other.id)
  for (const value of [cookie, mine]) t.equal((await present(svc, value)).statusCode, 401)
  const back = await svc.app.inject({ url: '/api/user', headers: { ...spaHeaders, cookie: `svc_session=${session}` } })
  t.equal(back.statusCode, 401)
  t.equal((await tokens(svc)).length, 0)
  t.equal(await sessionCount(svc), 1)
})

t.test('replaces the device when a user signs in in a remembered browser without a session', async (t) => {
  const svc = await buildTestApp(t)
  const other = await svc.createUser()
  const { spa, cookie } = await rememberedBrowser(svc)
  const login = await spa.post('/login', { email: other.email, password: 'correct horse', remember: true })
  t.equal(login.statusCode, 200, login.body)
  t.equal((await tokens(svc)).length, 1)
  t.equal(await sessionCount(svc), 1)
  t.equal((await present(svc, cookie)).statusCode, 401)
  svc.clock.advance(3 * hour)
  t.equal((await spa.get('/api/user')).json().id, other.id)
})

t.test('remembers two devices separately', async (t) => {
  const svc = await buildTestApp(t)
  const { user, spa } = await rememberedBrowser(svc)
  const second = new Browser(svc.app)
  await second.signIn(user.email, undefined, { remember: true })
  await second.post('/logout')
  const me = await spa.get('/api/user')
  t.equal(me.statusCode, 200)
  t.strictSame(cookieNames(await spa.get('/api/user')), pair, 'its cookie is unused once it has a session')
})
