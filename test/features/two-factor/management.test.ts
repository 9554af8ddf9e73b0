import jsqr from 'jsqr'
import t from 'tap'
import { requestReset, strongPassword, visitor } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { hour, second } from '../../support/clock.ts'
import { challenged, codeAt, confirmedBrowser, enableTwoFactor, wrongCode } from '../../support/totp.ts'
import { confirming, factor, recovery, routes } from './paths.ts'

// Every sign-in here costs a password check.
const invalid = 'The provided two factor authentication code was invalid.'

/** Draws the SVG's path as pixels, as a screen would, and decodes the image as a camera would. */
function scan(svg: string): string | undefined {
  const [, size = ''] = /viewBox="0 0 (\d+) \1"/.exec(svg) ?? []
  const width = Number(size)
  const pixels = new Uint8ClampedArray(width * width * 4).fill(255)
  for (const [, x, y, w] of svg.matchAll(/M(\d+),(\d+)h(\d+)v\d+h-\d+z/g)) {
    for (let row = Number(y); row < Number(y) + Number(w); row++) {
      for (let column = Number(x); column < Number(x) + Number(w); column++) {
        pixels.set([0, 0, 0, 255], (row * width + column) * 4)
      }
    }
  }
  // Sound: the module's types describe its default export as a property of itself.
  const read = jsqr as unknown as typeof jsqr.default
  return read(pixels, width, width)?.data
}

t.test('enables, scans, confirms, signs in, disables', async (t) => {
  const svc = await buildTestApp(t, { settings: { app: { name: 'Acme: & Söhne' } } })
  const user = await svc.createUser({ email: 'ada+1@example.com' })
  const spa = await confirmedBrowser(svc, user.email)

  t.strictSame((await spa.get('/user/two-factor-qr-code')).json(), [])
  t.strictSame((await spa.get(recovery)).json(), [])
  const none = await spa.get('/user/two-factor-secret-key')
  t.equal(none.statusCode, 404)
  t.equal(none.json().message, 'Two factor authentication has not been enabled.')
  t.equal((await spa.post(recovery)).statusCode, 200, 'nothing to replace')
  t.strictSame((await spa.get(recovery)).json(), [])
  t.equal((await spa.post(confirming, { code: '123456' })).statusCode, 422, 'nothing to confirm')

  const enabled = await spa.post(factor)
  t.equal(enabled.statusCode, 200)
  t.equal(enabled.body, '""')
  t.strictSame(await svc.mailbox.to(user.email), [], 'a first secret disables nothing')
  const { secretKey } = (await spa.get('/user/two-factor-secret-key')).json()
  t.match(secretKey, /^[A-Z2-7]{32}$/)
  const codes: string[] = (await spa.get(recovery)).json()
  t.equal(new Set(codes).size, 8)
  for (const code of codes) t.match(code, /^[A-Za-z0-9]{10}-[A-Za-z0-9]{10}$/)
  const { svg, url } = (await spa.get('/user/two-factor-qr-code')).json()
  t.match(svg, /^<svg[^>]*>.*<\/svg>$/s)
  t.notMatch(svg, /<script|href|[\s"]on\w+=/i)
  t.equal(scan(svg), url, 'the code on the screen encodes the address')
  const parts = new URL(url)
  t.match(url, /^otpauth:\/\/totp\/[^:]+:ada%2B1%40example\.com\?/)
  t.equal(
    decodeURIComponent(parts.pathname.replace(/^\/\/totp/, '')).split(':').length,
    2,
    'one colon, after the issuer',
  )
  t.strictSame(Object.fromEntries(parts.searchParams), {
    secret: secretKey,
    issuer: 'Acme  & Söhne',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })

  t.equal((await svc.browser().signIn(user.email)).json().two_factor, false, 'ignored while unconfirmed')
  t.equal((await spa.get('/api/user')).json().two_factor_enabled, false)
  for (const body of [{}, { code: null }, { code: '' }, { code: wrongCode(secretKey, svc.clock.now()) }]) {
    const answer = await spa.post(confirming, body)
    t.equal(answer.statusCode, 422, JSON.stringify(body))
    t.strictSame(answer.json().errors, { code: [invalid] })
  }
  const confirmed = await spa.post(confirming, { code: codeAt(secretKey, svc.clock.now()) })
  t.equal(confirmed.statusCode, 200)
  t.equal(confirmed.body, '""')
  t.equal((await spa.get('/api/user')).json().two_factor_enabled, true)
  svc.clock.advance(30 * second)
  t.equal((await spa.post(confirming, { code: codeAt(secretKey, svc.clock.now()) })).statusCode, 422, 'only once')
  t.equal((await svc.browser().signIn(user.email)).json().two_factor, true)

  t.equal((await spa.delete(factor)).statusCode, 200)
  t.equal((await spa.delete(factor)).body, '""', 'and again')
  t.strictSame((await spa.get(recovery)).json(), [])
  t.equal((await svc.browser().signIn(user.email)).json().two_factor, false)
  const events = await svc.database.prisma.event.findMany({ where: { type: { startsWith: 'two_factor' } } })
  const types = events.map(({ type }) => type)
  for (const type of ['two_factor_enabled', 'two_factor_confirmed', 'two_factor_disabled']) {
    t.equal(types.filter((found) => found === type).length, 1, type)
  }
  const subjects = (await svc.mailbox.to(user.email)).map(({ subject }) => subject)
  t.equal(subjects.length, 2, 'notified of the activation and of the removal')
})

t.test('keeps the secret when enabling again, and replaces it unconfirmed with force', async (t) => {
  const svc = await buildTestApp(t)
  const { browser, email, secret, recoveryCodes } = await enableTwoFactor(svc)
  const key = async () => (await browser.get('/user/two-factor-secret-key')).json().secretKey
  for (const body of [{}, { force: false }, { force: 'no' }, { force: null }]) {
    t.equal((await browser.post(factor, body)).statusCode, 200)
    t.equal(await key(), secret)
  }
  t.strictSame((await browser.get(recovery)).json(), recoveryCodes)
  const invalid = await browser.post(factor, { force: { a: 1 } })
  t.equal(invalid.statusCode, 422)
  t.strictSame(invalid.json().errors, { force: ['The force field must be true or false.'] })
  t.equal(await key(), secret)
  t.equal((await browser.post(factor, { force: true })).statusCode, 200)
  const replaced = await key()
  t.not(replaced, secret)
  const fresh: string[] = (await browser.get(recovery)).json()
  t.equal(fresh.filter((code) => recoveryCodes.includes(code)).length, 0)
  t.equal((await browser.get('/api/user')).json().two_factor_enabled, false, 'confirmed with a replaced secret')
  t.equal((await svc.browser().signIn(email)).json().two_factor, false)
  t.equal((await browser.post(confirming, { code: codeAt(secret, svc.clock.now()) })).statusCode, 422)
  t.equal((await browser.post(confirming, { code: codeAt(replaced, svc.clock.now()) })).statusCode, 200)
})

t.test('replaces all recovery codes, and rejects the old ones', async (t) => {
  const svc = await buildTestApp(t)
  const { browser, email, recoveryCodes, user } = await enableTwoFactor(svc)
  t.equal((await browser.post(recovery)).body, '""')
  const subjects = (await svc.mailbox.to(email)).map(({ subject }) => subject)
  t.ok(subjects.includes('New recovery codes were created'), subjects.join(', '))
  const { prisma } = svc.database
  t.equal(await prisma.event.count({ where: { type: 'recovery_codes_generated', userId: BigInt(user.id) } }), 1)
  const fresh: string[] = (await browser.get(recovery)).json()
  t.equal(fresh.length, 8)
  t.equal(fresh.filter((code) => recoveryCodes.includes(code)).length, 0)
  const visitor = await challenged(svc, email)
  t.equal((await visitor.post('/two-factor-challenge', { recovery_code: recoveryCodes[0] })).statusCode, 422)
  t.equal((await visitor.post('/two-factor-challenge', { recovery_code: fresh[0] })).statusCode, 204)
})

t.test('requires a session with a recent password', async (t) => {
  const svc = await buildTestApp(t)
  const { browser, user, email } = await enableTwoFactor(svc)
  const token = await svc.createToken(user)
  const guest = svc.browser()
  await guest.get('/svc/csrf-cookie')
  for (const [method, path] of routes) {
    t.equal(
      (await svc.bearer(token, method, path, method === 'GET' ? undefined : {})).statusCode,
      401,
      `${path} by token`,
    )
    t.equal((await guest.send(method, path, method === 'GET' ? undefined : {})).statusCode, 401, `${path} as a guest`)
    if (method !== 'GET') t.equal((await browser.send(method, path, {}, { 'x-xsrf-token': 'x' })).statusCode, 419, path)
  }
  svc.clock.advance(hour)
  await browser.get('/api/user')
  await svc.app.touches.flush()
  svc.clock.advance(hour)
  await browser.get('/api/user')
  await svc.app.touches.flush()
  svc.clock.advance(hour)
  for (const [method, path] of routes) {
    const answer = await browser.send(method, path, method === 'GET' ? undefined : {})
    t.equal(answer.statusCode, 423, `${method} ${path}`)
    t.equal(answer.json().code, 'password_confirmation_required')
  }
  t.equal((await challenged(svc, email)) && (await browser.get('/api/user')).json().two_factor_enabled, true)

  const lax = await buildTestApp(t, { settings: { two_factor: { confirm_password: false } } })
  const other = await lax.createUser()
  const spa = lax.browser()
  await spa.signIn(other.email)
  t.equal((await spa.post(factor)).statusCode, 200)
})

t.test('creates one secret when enabled twice concurrently, and confirms once', async (t) => {
  const svc = await buildTestApp(t)
  const replica = await buildTestApp(t, { database: svc.where, clock: svc.clock })
  const user = await svc.createUser()
  const [one, two] = [await confirmedBrowser(svc, user.email), await confirmedBrowser(replica, user.email)]
  for (const force of [false, true, true]) {
    const answers = await Promise.all([one, two, one, two].map((spa) => spa.post(factor, { force })))
    t.strictSame(
      answers.map(({ statusCode }) => statusCode),
      [200, 200, 200, 200],
    )
  }
  const enabled = await svc.database.prisma.event.count({ where: { type: 'two_factor_enabled' } })
  t.ok(enabled >= 3 && enabled <= 9)
  const { secretKey } = (await one.get('/user/two-factor-secret-key')).json()
  t.equal((await two.get('/user/two-factor-secret-key')).json().secretKey, secretKey)
  const code = codeAt(secretKey, svc.clock.now())
  const answers = await Promise.all([one, two, one, two].map((spa) => spa.post(confirming, { code })))
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 422, 422, 422])
  svc.clock.advance(second)
  const visitor = await challenged(svc, user.email)
  t.equal((await visitor.post('/two-factor-challenge', { code })).statusCode, 422, 'the confirming code is used up')
})

t.test('records one event for concurrent first activations', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = await confirmedBrowser(svc, user.email)
  await Promise.all(Array.from({ length: 6 }, () => spa.post(factor)))
  t.equal(await svc.database.prisma.event.count({ where: { type: 'two_factor_enabled' } }), 1)
})

t.test('ends the other sessions and remembered browsers when a second factor is confirmed', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const [other, remembered, neighbour] = [svc.browser(), svc.browser(), svc.browser()]
  await other.signIn(user.email)
  await remembered.signIn(user.email, undefined, { remember: true })
  await neighbour.signIn((await svc.createUser()).email)
  const cookie = `svc_remember=${await remembered.cookie('svc_remember')}`
  const here = svc.browser()
  await here.signIn(user.email, undefined, { remember: true })
  await here.post('/user/confirm-password', { password: 'correct horse' })
  await here.post('/user/two-factor-authentication')
  t.equal((await other.get('/api/user')).statusCode, 200, 'an unconfirmed factor ends nothing')
  const secret: string = (await here.get('/user/two-factor-secret-key')).json().secretKey
  const code = codeAt(secret, svc.clock.now())
  t.equal((await here.post('/user/confirmed-two-factor-authentication', { code })).statusCode, 200)
  for (const browser of [other, remembered]) t.equal((await browser.get('/api/user')).statusCode, 401)
  const headers = { cookie, origin: 'http://localhost:5173' }
  t.equal((await svc.app.inject({ url: '/api/user', headers })).statusCode, 401, 'a remembered browser')
  for (const browser of [here, neighbour]) t.equal((await browser.get('/api/user')).statusCode, 200)
  svc.clock.advance(3 * hour)
  t.equal((await here.get('/api/user')).statusCode, 200, 'this browser is still remembered')
})

t.test('drops an unconfirmed factor with the password, because someone else may know its secret', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null } } })
  const passwords = { password: strongPassword, password_confirmation: strongPassword }
  const recoveries: Record<string, (browser: Browser, email: string) => Promise<unknown>> = {
    'a reset': async (browser, email) =>
      browser.post('/reset-password', { email, token: await requestReset(svc, email), ...passwords }),
    'a change': (browser) => browser.put('/user/password', { current_password: 'correct horse', ...passwords }),
  }
  for (const [how, recover] of Object.entries(recoveries)) {
    const { email } = await svc.createUser()
    const attacker = await confirmedBrowser(svc, email)
    await attacker.post(factor)
    const { secretKey } = (await attacker.get('/user/two-factor-secret-key')).json()
    const codes = (await attacker.get(recovery)).json()
    const owner = svc.browser()
    await owner.signIn(email)
    await recover(owner, email)
    await owner.signIn(email, strongPassword)
    await owner.post('/user/confirm-password', { password: strongPassword })
    t.strictSame((await owner.get('/user/two-factor-qr-code')).json(), [], how)
    t.equal((await owner.post(factor)).statusCode, 200)
    t.not((await owner.get('/user/two-factor-secret-key')).json().secretKey, secretKey, how)
    t.notMatch((await owner.get(recovery)).body, codes[0], how)
  }
})

t.test('keeps a confirmed factor when the password is reset', async (t) => {
  const svc = await buildTestApp(t)
  const { user, code } = await enableTwoFactor(svc)
  const passwords = { password: strongPassword, password_confirmation: strongPassword }
  const token = await requestReset(svc, user.email)
  await (await visitor(svc)).post('/reset-password', { email: user.email, token, ...passwords })
  svc.clock.advance(30 * second)
  const spa = svc.browser()
  t.match((await spa.signIn(user.email, strongPassword)).json(), { two_factor: true })
  t.equal((await spa.post('/two-factor-challenge', { code: code() })).statusCode, 204)
})
