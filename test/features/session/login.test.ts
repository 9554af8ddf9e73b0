import { hash as argon2 } from '@node-rs/argon2'
import { hash as bcrypt } from '@node-rs/bcrypt'
import t from 'tap'
import { passwordFingerprint } from '../../../src/auth/access/password-fingerprint.ts'
import { hashPassword } from '../../../src/platform/crypto/password.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'
import { cookieNames, pair } from './set-cookies.ts'

const wrong = 'These credentials do not match our records.'
const change = (svc: TestApp, id: number, data: object) =>
  svc.database.prisma.user.update({ where: { id: BigInt(id) }, data })
const storedHash = async (svc: TestApp, id: number) =>
  (await svc.database.prisma.user.findUniqueOrThrow({ where: { id: BigInt(id) } })).password

t.test('answers the same to every failed login', async (t) => {
  for (const status of [401, 422]) {
    const svc = await buildTestApp(t, { settings: { session: { login_failure_status: status } } })
    const [known, disabled, passwordless] = [
      await svc.createUser(),
      await svc.createUser(),
      await svc.createUser({ password: null }),
    ]
    await change(svc, disabled.id, { disabledAt: new Date() })
    const code = 'invalid_credentials'
    for (const [email, password] of [
      [known.email, 'wrong horse'],
      [known.email, ' correct horse'],
      [known.email, 'Correct horse'],
      ['unknown@example.com', 'correct horse'],
      [disabled.email, 'correct horse'],
      [passwordless.email, 'correct horse'],
    ]) {
      const spa = svc.browser()
      const answer = await spa.signIn(email ?? '', password)
      t.equal(answer.statusCode, status, String(email))
      t.strictSame(answer.json(), { message: wrong, code, errors: { email: [wrong] } })
      t.strictSame(cookieNames(answer), [])
      t.equal(answer.headers['www-authenticate'], undefined, 'browsers show no password prompt of their own')
    }
    t.equal(await svc.database.prisma.session.count(), 0)
    t.equal(await storedHash(svc, passwordless.id), null)
  }
})

t.test('accepts only strings as email and password', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const passwordless = await svc.createUser({ password: null })
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  const good = { email, password: 'correct horse' }
  for (const [body, field] of [
    [{ ...good, email: [email] }, 'email'],
    [{ ...good, email: { contains: '@' } }, 'email'],
    [{ ...good, email: { not: null } }, 'email'],
    [{ ...good, email: null }, 'email'],
    [{ ...good, email: 1 }, 'email'],
    [{ ...good, email: 'no address' }, 'email'],
    [{ ...good, email: `${email}\r\nBcc: x` }, 'email'],
    [{ ...good, email: `${email}\0` }, 'email'],
    [{ ...good, email: `${'a'.repeat(250)}@example.com` }, 'email'],
    [{ ...good, password: ['correct horse'] }, 'password'],
    [{ ...good, password: { not: null } }, 'password'],
    [{ ...good, password: true }, 'password'],
    [{ ...good, password: null }, 'password'],
    [{ ...good, password: '' }, 'password'],
    [{ ...good, password: 'correct horse\0' }, 'password'],
    [{ ...good, password: '\ud800' }, 'password'],
    [{ email: passwordless.email, password: '' }, 'password'],
    [{ email }, 'password'],
  ] as const) {
    const answer = await spa.post('/login', body)
    t.equal(answer.statusCode, 422, JSON.stringify(body))
    t.ok(Array.isArray(answer.json().errors[field]), `${field} is reported`)
  }
  const nothing = await spa.post('/login', {})
  t.strictSame(Object.keys(nothing.json().errors), ['email', 'password'])
  t.equal((await spa.post('/login', good)).statusCode, 200, 'and none of it was counted')
  for (const spelling of [email.toUpperCase(), `  ${email} `, email.replace('user', 'uSer')]) {
    t.equal((await svc.browser().signIn(spelling)).statusCode, 200, JSON.stringify(spelling))
  }
})

t.test('changes the id and the XSRF value on login, and rejects planted ones', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const attacker = svc.browser()
  await attacker.get('/svc/csrf-cookie')
  const victim = new Browser(svc.app)
  for (const cookie of await attacker.jar.getCookies('http://localhost:8000/')) {
    await victim.jar.setCookie(cookie, 'http://localhost:8000/')
  }
  const planted = await attacker.cookie('svc_session')
  const xsrf = await attacker.cookie('XSRF-TOKEN')
  const login = await victim.post('/login', { email: user.email, password: 'correct horse' })
  t.equal(login.statusCode, 200)
  t.strictSame(cookieNames(login), ['XSRF-TOKEN', 'svc_browser', 'svc_session'])
  t.not(await victim.cookie('svc_session'), planted)
  t.not(await victim.cookie('XSRF-TOKEN'), xsrf)
  t.equal((await attacker.get('/api/user')).statusCode, 401)
  t.equal((await attacker.post('/logout')).statusCode, 401)
  t.equal((await victim.post('/logout', {}, { 'x-xsrf-token': xsrf })).statusCode, 419, 'the value from before')
  t.equal((await victim.get('/api/user')).statusCode, 200)
  const inside = await victim.cookie('svc_session')
  const out = await victim.post('/logout')
  t.strictSame(cookieNames(out), pair)
  t.not(await victim.cookie('svc_session'), inside)
  t.equal(await svc.database.prisma.session.count(), 0)
})

t.test('replaces the session of a signed-in user on success, and keeps it on failure', async (t) => {
  const svc = await buildTestApp(t)
  const [first, second] = [await svc.createUser(), await svc.createUser()]
  const spa = svc.browser()
  await spa.signIn(first.email)
  const before = await spa.cookie('svc_session')
  const failed = await spa.post('/login', { email: second.email, password: 'wrong' })
  t.equal(failed.statusCode, 401)
  t.strictSame(cookieNames(failed), pair)
  t.equal(await spa.cookie('svc_session'), before)
  t.equal((await spa.get('/api/user')).json().id, first.id)
  await change(svc, second.id, { twoFactorConfirmedAt: new Date() })
  t.strictSame((await spa.post('/login', { email: second.email, password: 'correct horse' })).json(), {
    two_factor: true,
  })
  t.equal((await spa.get('/api/user')).json().id, first.id, 'a first factor replaces nothing')
  await change(svc, second.id, { twoFactorConfirmedAt: null })
  t.equal((await spa.post('/login', { email: second.email, password: 'correct horse' })).statusCode, 200)
  t.equal((await spa.get('/api/user')).json().id, second.id)
  t.equal((await svc.browser().get('/api/user', { cookie: `svc_session=${before}` })).statusCode, 401)
  t.equal(await svc.database.prisma.session.count(), 1)
})

t.test('requires the confirmed second factor besides the password', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  await change(svc, user.id, { twoFactorSecret: 'x' })
  t.equal((await svc.browser().signIn(user.email)).json().two_factor, false, 'an unconfirmed one is ignored')
  await svc.database.prisma.session.deleteMany()
  await change(svc, user.id, { twoFactorConfirmedAt: new Date(), password: await bcrypt('correct horse', 4) })
  const spa = svc.browser()
  const answer = await spa.signIn(user.email, undefined, { remember: true })
  t.equal(answer.statusCode, 200)
  t.strictSame(answer.json(), { two_factor: true })
  t.strictSame(
    cookieNames(answer),
    ['XSRF-TOKEN', 'svc_session'],
    'an anonymous session: no remembering, no known browser',
  )
  t.equal((await spa.get('/api/user')).statusCode, 401)
  t.equal(await svc.database.prisma.session.count({ where: { userId: { not: null } } }), 0)
  t.equal(await svc.database.prisma.rememberToken.count(), 0)
  t.match(await storedHash(svc, user.id), /^\$argon2id\$/, 'rehashed nevertheless')
})

t.test('verifies and replaces older hashes, and keeps other sessions', async (t) => {
  const svc = await buildTestApp(t)
  const password = 'pässword of old'
  const old = [
    (await bcrypt(password, 4)).replace('$2b$', '$2y$'),
    (await bcrypt(password, 4)).replace('$2b$', '$2a$'),
    await argon2(password, { algorithm: 1, memoryCost: 1024, timeCost: 2, parallelism: 2 }),
    await argon2(password, { algorithm: 2, memoryCost: 4096, timeCost: 3, parallelism: 1 }),
  ]
  for (const stored of old) {
    const user = await svc.createUser()
    const other = svc.browser()
    await other.signIn(user.email)
    const device = svc.browser()
    await device.signIn(user.email, undefined, { remember: true })
    const remembered = `svc_remember=${await device.cookie('svc_remember')}`
    await change(svc, user.id, { password: stored })
    const marked = { where: { userId: BigInt(user.id) }, data: { passwordFingerprint: passwordFingerprint(stored) } }
    await svc.database.prisma.session.updateMany(marked)
    await svc.database.prisma.rememberToken.updateMany(marked)
    t.equal((await svc.browser().signIn(user.email, 'the earlier password')).statusCode, 401)
    const both = await Promise.all([
      svc.browser().signIn(user.email, password),
      svc.browser().signIn(user.email, password),
    ])
    for (const answer of both) t.equal(answer.statusCode, 200, stored.slice(0, 12))
    t.match(await storedHash(svc, user.id), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    t.equal((await other.get('/api/user')).statusCode, 200, 'the other session continues')
    t.equal((await svc.browser().get('/api/user', { cookie: remembered })).statusCode, 200, 'and the remembered one')
    t.equal((await svc.browser().signIn(user.email, password)).statusCode, 200)
  }
})

t.test('ends sessions on their next request after a password change elsewhere', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const [own, other] = [svc.browser(), svc.browser()]
  await own.signIn(user.email)
  await other.signIn(user.email, undefined, { remember: true })
  const password = hashPassword('a new password')
  await change(svc, user.id, { password })
  const id = (await own.get('/api/user')).statusCode
  t.equal(id, 401)
  // Simulates a route that changes its own user's password: the fingerprint in its session is updated.
  await own.signIn(user.email, 'a new password')
  const again = hashPassword('the newest password')
  const mine = { userId: BigInt(user.id), passwordFingerprint: passwordFingerprint(password) }
  await svc.database.prisma.session.updateMany({
    where: mine,
    data: { passwordFingerprint: passwordFingerprint(again) },
  })
  await change(svc, user.id, { password: again })
  t.equal((await own.get('/api/user')).statusCode, 200)
  t.equal((await other.get('/api/user')).statusCode, 401)
  t.equal((await other.post('/logout')).statusCode, 401)
  await change(svc, user.id, { disabledAt: new Date() })
  t.equal((await own.get('/api/user')).statusCode, 401, 'a disabled user is signed out immediately')
  await change(svc, user.id, { disabledAt: null, password: null })
  t.equal((await own.get('/api/user')).statusCode, 401, 'and so is a user whose password was removed')
})

t.test('ends the session and the remembered device on logout, whichever cookies the request has', async (t) => {
  const svc = await buildTestApp(t)
  const [user, other] = [await svc.createUser(), await svc.createUser()]
  const spa = svc.browser()
  await spa.signIn(user.email, undefined, { remember: true })
  const kept = `svc_remember=${await spa.cookie('svc_remember')}`
  const session = `svc_session=${await spa.cookie('svc_session')}`
  t.equal((await spa.post('/logout', {}, { cookie: session })).statusCode, 200)
  t.equal(
    (await svc.browser().get('/api/user', { cookie: kept })).statusCode,
    401,
    'its remember token is revoked although it was not sent',
  )
  const [one, two] = [svc.browser(), svc.browser()]
  await one.signIn(user.email, undefined, { remember: true })
  await two.signIn(other.email)
  const foreign = await one.cookie('svc_remember')
  await two.jar.setCookie(`svc_remember=${foreign}; Path=/`, 'http://localhost:8000/')
  t.equal((await two.post('/logout')).statusCode, 200)
  t.equal((await two.get('/api/user')).statusCode, 401, 'a logout never signs another user in')
  t.equal((await svc.browser().get('/api/user', { cookie: `svc_remember=${foreign}` })).statusCode, 401)
  t.equal((await one.get('/api/user')).statusCode, 401, 'a copied cookie creates no second device')
})
