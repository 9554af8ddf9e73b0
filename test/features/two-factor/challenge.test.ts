// engine: none
import t from 'tap'
import { buildTestApp, confirming, type TestApp } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'
import { minute } from '../../support/clock.ts'
import { runCommandOn } from '../../support/command.ts'
import { openOperations } from '../../support/routes.ts'
import { challenged, confirmedBrowser, enableTwoFactor } from '../../support/totp.ts'
import { cookieNames, pair } from '../session/set-cookies.ts'

// Every sign-in here costs a password check.
const challenge = '/two-factor-challenge'
const home = 'http://localhost:8000/'
const methods = { get: 'GET', post: 'POST', put: 'PUT', patch: 'PATCH', delete: 'DELETE' } as const

/** Another browser with the same cookies. */
async function copyOf(svc: TestApp, browser: Browser): Promise<Browser> {
  const copy = new Browser(svc.app)
  for (const cookie of await browser.jar.getCookies(home)) await copy.jar.setCookie(cookie, home)
  return copy
}

t.test('denies a pending sign-in every protected route', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const { email } = await enableTwoFactor(svc)
  const spa = await challenged(svc, email, { remember: true })
  const { paths } = (await spa.get('/openapi.json')).json()
  let walked = 0
  for (const [path, operations] of Object.entries<Record<string, object>>(paths)) {
    for (const [word, method] of Object.entries(methods)) {
      if (!operations[word] || openOperations.has(`${method} ${path}`)) continue
      walked++
      const body = method === 'GET' ? undefined : { name: 'x', email, password: 'x', code: '123456' }
      const answer = await spa.send(method, path.replace(/\{\w+\}/g, '1'), body)
      t.equal(answer.statusCode, 401, `${method} ${path}`)
    }
  }
  t.ok(walked > 35, `${walked} routes`)
  for (const page of ['/', '/test-tokens', '/oauth/login']) {
    const { body } = await spa.get(page, { accept: 'text/html' })
    t.notMatch(body, /Ada Example/, page)
    t.notMatch(body, new RegExp(email), page)
  }
  t.equal((await spa.post('/user/confirm-password', { password: 'correct horse' })).statusCode, 401)
  t.equal((await spa.post('/logout')).statusCode, 401)
})

t.test('sets only the session and XSRF cookies before the second factor, and keeps the remember choice', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const ada = await enableTwoFactor(svc)
  const spa = svc.browser()
  const first = await spa.signIn(ada.email, undefined, { remember: true })
  t.strictSame(first.json(), { two_factor: true })
  t.strictSame(cookieNames(first), pair)
  t.equal(await svc.database.prisma.rememberToken.count(), 0)
  const wrong = await spa.post(challenge, { code: ada.wrong() })
  t.strictSame(cookieNames(wrong), [])
  const done = await spa.post(challenge, { code: ada.code() })
  t.strictSame(cookieNames(done), ['XSRF-TOKEN', 'svc_browser', 'svc_remember', 'svc_session'])
  const remembered = svc.browser()
  const kept = `svc_remember=${await spa.cookie('svc_remember')}`
  t.equal((await remembered.get('/api/user', { cookie: kept })).json().id, ada.user.id)
  const brief = await challenged(svc, ada.email)
  t.strictSame(cookieNames(await brief.post(challenge, { code: ada.code(1) })), [...pair, 'svc_browser'].sort())
})

t.test('changes the id at the challenge and at its end, and rejects planted ones', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const ada = await enableTwoFactor(svc)
  const attacker = svc.browser()
  await attacker.get('/svc/csrf-cookie')
  const planted = await attacker.cookie('svc_session')
  const victim = await copyOf(svc, attacker)
  const login = { email: ada.email, password: 'correct horse' }
  const xsrf = await victim.cookie('XSRF-TOKEN')
  t.strictSame((await victim.post('/login', login)).json(), { two_factor: true })
  const waiting = await victim.cookie('svc_session')
  t.not(waiting, planted)
  t.not(await victim.cookie('XSRF-TOKEN'), xsrf)
  t.equal(
    (await attacker.post(challenge, { code: ada.code() })).statusCode,
    422,
    'nothing is pending in the planted one',
  )
  const thief = await copyOf(svc, victim)
  t.equal((await victim.post(challenge, { code: ada.code() }, { 'x-xsrf-token': xsrf })).statusCode, 419)
  t.equal((await victim.post(challenge, { code: ada.code() })).statusCode, 204)
  t.not(await victim.cookie('svc_session'), waiting)
  for (const browser of [attacker, thief]) t.equal((await browser.get('/api/user')).statusCode, 401)
  const replay = await thief.post(challenge, { code: ada.code(1) })
  t.equal(replay.statusCode, 422, 'the challenge ended with its success')
  t.equal((await victim.get('/api/user')).statusCode, 200)
})

t.test('ends a challenge after ten minutes, and when the account or its second factor changes', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const changes = {
    'ten minutes': async () => svc.clock.advance(10 * minute),
    'another password': async (email: string) =>
      svc.database.prisma.user.update({ where: { email }, data: { password: 'x' } }),
    'a disabled user': (email: string) => runCommandOn(svc, 'user:update', `--email=${email}`, '--disable'),
    'a factor removed by an administrator': (email: string) =>
      runCommandOn(svc, 'user:update', `--email=${email}`, '--reset-two-factor'),
    'a deleted user': (email: string) => svc.database.prisma.user.delete({ where: { email } }),
    'a new sign-in': async () => undefined,
  }
  for (const [name, change] of Object.entries(changes)) {
    const ada = await enableTwoFactor(svc)
    const spa = await challenged(svc, ada.email)
    svc.clock.advance(9 * minute)
    if (name === 'a new sign-in') await spa.post('/login', { email: ada.email, password: 'correct horse' })
    const old = await copyOf(svc, spa)
    await change(ada.email)
    if (name === 'a new sign-in') await spa.post('/login', { email: ada.email, password: 'correct horse' })
    for (const body of [{}, { code: '' }, { code: ada.code() }, { recovery_code: ada.recoveryCodes[0] }]) {
      t.equal((await old.post(challenge, body)).statusCode, 422, `${name}: ${Object.keys(body)}`)
    }
    t.equal((await old.get('/api/user')).statusCode, 401)
  }
  const bob = await enableTwoFactor(svc)
  await runCommandOn(svc, 'user:update', `--email=${bob.email}`, '--reset-two-factor')
  t.equal((await svc.browser().signIn(bob.email)).json().two_factor, false, 'after a restart, a password suffices')
})

t.test('accepts only the new factor when it was replaced meanwhile', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const ada = await enableTwoFactor(svc)
  const spa = await challenged(svc, ada.email)
  await ada.browser.post('/user/two-factor-authentication', { force: true })
  t.equal((await spa.post(challenge, { code: ada.code() })).statusCode, 422)
  t.equal((await spa.post(challenge, {})).statusCode, 422)
})

t.test('keeps a signed-in user until the second factor succeeds, then changes the id', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const [ada, bob] = [await enableTwoFactor(svc), await svc.createUser()]
  const spa = await confirmedBrowser(svc, bob.email)
  const login = { email: ada.email, password: 'correct horse' }
  const planted = await copyOf(svc, spa)
  const first = await spa.post('/login', login)
  t.strictSame(first.json(), { two_factor: true })
  t.strictSame(cookieNames(first), pair)
  t.equal((await spa.get('/api/user')).json().id, bob.id)
  t.equal((await spa.get('/user/confirmed-password-status')).json().confirmed, true, 'its data is kept')
  t.equal((await planted.post(challenge, { code: ada.code() })).statusCode, 422, 'the earlier id gives no access')
  t.equal((await planted.get('/api/user')).statusCode, 401)
  const thief = await copyOf(svc, spa)
  t.equal((await spa.post('/login', { email: bob.email, password: 'correct horse' })).statusCode, 200)
  for (const browser of [spa, thief]) {
    t.equal(
      (await browser.post(challenge, { code: ada.code() })).statusCode,
      422,
      'another sign-in ended the pending one',
    )
  }
  t.equal((await spa.get('/api/user')).json().id, bob.id)
  await spa.post('/user/confirm-password', { password: 'correct horse' })
  await spa.post('/login', login)
  t.equal((await spa.post(challenge, { code: ada.code() })).statusCode, 204)
  t.equal((await spa.get('/api/user')).json().id, ada.user.id)
  t.equal(
    (await spa.get('/user/confirmed-password-status')).json().confirmed,
    false,
    'nothing of the other carries over',
  )
})

t.test('rejects the code of another challenge', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const [ada, bob] = [await enableTwoFactor(svc), await enableTwoFactor(svc)]
  const [spaA, spaB] = [await challenged(svc, ada.email), await challenged(svc, bob.email)]
  t.equal((await spaA.post(challenge, { code: bob.code(), user_id: bob.user.id })).statusCode, 422)
  t.equal((await spaB.post(challenge, { code: bob.code() })).statusCode, 204)
  t.equal((await spaB.get('/api/user')).json().id, bob.user.id)
})

t.test('keeps secrets out of plain-text rows, logs, events and the description', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const ada = await enableTwoFactor(svc)
  const code = ada.code()
  const spa = await challenged(svc, ada.email)
  await spa.get('/user/two-factor-recovery-codes')
  await spa.post(challenge, { code, recovery_code: ada.recoveryCodes[1] })
  await svc.bearer(null, 'POST', '/svc/token', { email: ada.email, password: 'correct horse', device_name: 'x', code })
  await ada.browser.post('/user/two-factor-recovery-codes')
  const fresh: string[] = (await ada.browser.get('/user/two-factor-recovery-codes')).json()
  t.equal(fresh.length, 8)
  const secrets = [ada.secret, ...ada.recoveryCodes, ...fresh]
  const { prisma } = svc.database
  const dump = JSON.stringify(
    await Promise.all([
      prisma.user.findMany(),
      prisma.session.findMany(),
      prisma.event.findMany(),
      prisma.outbox.findMany(),
      prisma.loginLimit.findMany(),
      prisma.rememberToken.findMany(),
      prisma.personalAccessToken.findMany(),
      prisma.passwordReset.findMany(),
      prisma.passkey.findMany(),
      prisma.passkeyChallenge.findMany(),
    ]),
    (_key, value) => (typeof value === 'bigint' ? String(value) : value),
  )
  const mails = (await svc.mailbox.all()).map(({ raw }) => raw).join('\n')
  const openapi = (await svc.browser().get('/openapi.json')).body
  t.match(dump, ada.email, 'the dump contains the rows')
  t.match(svc.logs.join('\n'), 'two_factor_confirmed')
  for (const secret of secrets) {
    for (const hidden of [secret, Buffer.from(secret).toString('base64url').slice(0, -2), encodeURIComponent(secret)]) {
      for (const [name, text] of Object.entries({ dump, mails, openapi, logs: svc.logs.join('\n') })) {
        if (text.includes(hidden)) t.fail(`${hidden} is in ${name}`)
      }
    }
  }
  t.notMatch(svc.logs.join('\n'), new RegExp(`[":]${code}\\b`), 'nor is a typed code')
})
