// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'

const password = 'correct horse'
const login = ({ bearer }: TestApp, body: object, path = '/svc/token') => bearer(null, 'POST', path, body)

t.test('returns a token and the user for an email and password, without cookies', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser({ email: 'ada@example.com' })
  for (const email of ['ada@example.com', ' Ada@Example.COM ']) {
    const answer = await login(svc, { email, password, device_name: ' Phone ' })
    t.equal(answer.statusCode, 200, answer.body)
    t.same(Object.keys(answer.json()).sort(), ['token', 'user'])
    t.equal(answer.headers['set-cookie'], undefined)
    const names = ['id', 'name', 'username', 'email', 'email_verified_at', 'role', 'groups']
    const keys = [...names, 'two_factor_enabled', 'created_at', 'updated_at']
    t.same(Object.keys(answer.json().user), keys)
    t.equal(answer.json().user.id, user.id)
    const [record] = (await svc.bearer(answer.json().token, 'GET', '/api/tokens')).json().slice(-1)
    t.match(record, { name: 'Phone', abilities: ['*'], expires_at: null })
  }
})

t.test("answers with Laravel's texts for missing and invalid fields", async (t) => {
  const svc = await buildTestApp(t)
  const all = { email: 'a@b.c', password, device_name: 'x' }
  const cases: [object, Record<string, string[]>][] = [
    [
      {},
      {
        email: ['The email field is required.'],
        password: ['The password field is required.'],
        device_name: ['The device name field is required.'],
      },
    ],
    [{ ...all, device_name: ' ' }, { device_name: ['The device name field is required.'] }],
    [{ ...all, device_name: 5 }, { device_name: ['The device name field must be a string.'] }],
    [
      { ...all, device_name: 'x'.repeat(256) },
      { device_name: ['The device name field must not be greater than 255 characters.'] },
    ],
    [{ ...all, password: '' }, { password: ['The password field is required.'] }],
    [{ ...all, password: null }, { password: ['The password field is required.'] }],
    [{ ...all, password: ['x'] }, { password: ['The password field must be a string.'] }],
  ]
  for (const email of ['unknown', 'a@', '@b', 'a b@c.d', 'a@b\nc', 'a@b@c', 'a..b@c.d', 'a@-b.c']) {
    cases.push([{ ...all, email }, { email: ['The email field must be a valid email address.'] }])
  }
  for (const [body, errors] of cases) {
    const answer = await login(svc, body)
    t.equal(answer.statusCode, 422, JSON.stringify(body).slice(0, 80))
    t.same(answer.json().errors, errors)
  }
  t.equal((await login(svc, {})).json().message, 'The email field is required. (and 2 more errors)')
})

t.test('answers the same to every failed sign-in', async (t) => {
  const svc = await buildTestApp(t)
  const known = await svc.createUser()
  const social = await svc.createUser({ password: null })
  const disabled = await svc.createUser()
  const where = { id: BigInt(disabled.id) }
  await svc.database.prisma.user.update({ where, data: { disabledAt: new Date(svc.clock.now()) } })
  const text = 'The provided credentials are incorrect.'
  const expected = { message: text, code: 'invalid_credentials', errors: { email: [text] } }
  for (const [email, secret] of [
    ['unknown@example.com', password],
    [known.email, 'wrong'],
    [known.email, `${password} `],
    [social.email, password],
    [social.email, 'null'],
    [disabled.email, password],
  ]) {
    const answer = await login(svc, { email, password: secret, device_name: 'x' })
    t.equal(answer.statusCode, 422, String(email))
    t.same(answer.json(), expected)
    t.equal(answer.headers['set-cookie'], undefined)
    t.equal(answer.headers['www-authenticate'], undefined)
  }
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('keeps the spaces of a password', async (t) => {
  const svc = await buildTestApp(t)
  const spaced = '  päss word  '
  const user = await svc.createUser({ password: spaced })
  const body = { email: user.email, device_name: 'x' }
  t.equal((await login(svc, { ...body, password: spaced })).statusCode, 200)
  t.equal((await login(svc, { ...body, password: spaced.trim() })).statusCode, 422)
  const blank = await svc.createUser({ password: '   ' })
  t.equal((await login(svc, { email: blank.email, device_name: 'x', password: '   ' })).statusCode, 200)
})

t.test('rejects a password alone for a user with a second factor', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const where = { id: BigInt(user.id) }
  await svc.database.prisma.user.update({ where, data: { twoFactorConfirmedAt: new Date(svc.clock.now()) } })
  const answer = await login(svc, { email: user.email, password, device_name: 'x' })
  t.equal(answer.statusCode, 422)
  t.same(Object.keys(answer.json().errors), ['code'])
  const wrong = await login(svc, { email: user.email, password: 'wrong', device_name: 'x' })
  t.same(Object.keys(wrong.json().errors), ['email'], 'the second factor is revealed only with the right password')
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('ignores sessions and CSRF', async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const spa = svc.browser()
  await spa.signIn(ada.email)
  const body = { email: bob.email, password, device_name: 'x' }
  const answer = await spa.post('/svc/token', body, { 'x-xsrf-token': undefined, authorization: 'Bearer nonsense' })
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.headers['set-cookie'], undefined)
  t.equal((await svc.bearer(answer.json().token, 'GET', '/api/user')).json().id, bob.id)
  t.equal((await spa.get('/api/user')).json().id, ada.id)
})

t.test('also serves the other prefix with compat.prefixes', async (t) => {
  const both = await buildTestApp(t, { settings: { compat: { prefixes: ['svc', 'sanctum'] } } })
  const user = await both.createUser()
  const body = { email: user.email, password, device_name: 'x' }
  for (const path of ['/svc/token', '/sanctum/token']) t.equal((await login(both, body, path)).statusCode, 200)
  t.equal((await both.app.inject('/sanctum/csrf-cookie')).statusCode, 204)
  t.equal((await both.app.inject('/sanctum/token')).headers.allow, 'POST')
  const plain = await buildTestApp(t)
  t.equal((await login(plain, body, '/sanctum/token')).statusCode, 404)
})

t.test('limits failures by account, and no successes', async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const body = { email: ada.email, device_name: 'x' }
  for (let i = 0; i < 7; i++) t.equal((await login(svc, { ...body, password })).statusCode, 200)
  for (let i = 0; i < 5; i++) t.equal((await login(svc, { ...body, password: 'wrong' })).statusCode, 422)
  const refused = await login(svc, { ...body, password })
  t.equal(refused.statusCode, 429)
  t.match(refused.headers['retry-after'], /^\d+$/)
  t.ok(refused.json().errors.email)
  t.equal((await login(svc, { ...body, email: ada.email.toUpperCase(), password })).statusCode, 429)
  t.equal((await login(svc, { ...body, email: bob.email, password })).statusCode, 200)
  svc.clock.advance(minute + 1)
  t.equal((await login(svc, { ...body, password })).statusCode, 200)
})
