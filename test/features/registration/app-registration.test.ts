import t from 'tap'
import { mailedLink, registration } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { Device } from '../../support/device.ts'

const url = '/svc/register'
const taken = 'The email has already been taken.'

t.test('creates an account in an app and signs it in, without cookies', async (t) => {
  const svc = await buildTestApp(t)
  const smuggled = {
    id: 99,
    role: 'admin',
    email_verified_at: '2020-01-01T00:00:00Z',
    abilities: ['x'],
    remember: true,
  }
  const body = registration(' Grace@EXAMPLE.com ', { device_name: ' Phone ', ...smuggled })
  const answer = await new Device(svc).post(url, body)
  t.equal(answer.statusCode, 201, answer.body)
  t.equal(answer.headers['set-cookie'], undefined)
  const { token, user } = answer.json()
  t.match(user, { email: 'grace@example.com', role: 'user', email_verified_at: null })
  t.not(user.id, 99)
  t.equal((await svc.bearer(token, 'GET', '/api/user')).json().id, user.id)
  t.match((await svc.bearer(token, 'GET', '/api/tokens')).json(), [{ name: 'Phone', abilities: ['*'] }])
  t.ok(await mailedLink(svc, 'grace@example.com'))
  t.equal((await svc.mailbox.to('grace@example.com')).length, 1, 'an unverified address gets no notice')
  const types = (await svc.database.prisma.event.findMany({ orderBy: { id: 'asc' } })).map(({ type }) => type)
  t.strictSame(types, ['registered', 'verification_sent', 'token_created'])
  t.equal(await svc.database.prisma.session.count(), 0)
})

t.test('returns no token without a device name, or before a required verification', async (t) => {
  const svc = await buildTestApp(t)
  for (const [i, device_name] of [undefined, null, ' '].entries()) {
    const answer = await new Device(svc).post(url, registration(`new${i}@example.com`, { device_name }))
    t.equal(answer.statusCode, 201, answer.body)
    t.strictSame(answer.json().token, null)
  }
  const strict = await buildTestApp(t, { settings: { registration: { require_verified_email: true } } })
  const device = new Device(strict)
  const account = registration('grace@example.com', { device_name: 'Phone' })
  const answer = await device.post(url, account)
  t.equal(answer.statusCode, 201, answer.body)
  t.match(answer.json(), { token: null, user: { email: 'grace@example.com' } })
  const early = await device.token({ email: account.email, password: account.password })
  t.equal(early.json().code, 'email_unverified')
  t.equal(await strict.database.prisma.personalAccessToken.count(), 0)
  await strict.database.prisma.user.updateMany({ data: { emailVerifiedAt: new Date(strict.clock.now()) } })
  t.equal((await device.token({ email: account.email, password: account.password })).statusCode, 200)
})

t.test('reports the errors of POST /register, and creates nothing', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { register: null } } })
  await svc.createUser({ email: 'ada@example.com' })
  const device = new Device(svc)
  const disallowed = 'The device name field contains characters that are not allowed.'
  for (const [more, errors] of [
    [{ name: ' ' }, { name: ['The name field is required.'] }],
    [{ email: 'x' }, { email: ['The email field must be a valid email address.'] }],
    [{ email: ' ADA@example.com' }, { email: [taken] }],
    [{ password: 'password1', password_confirmation: 'password1' }, { password: [String] }],
    [{ password_confirmation: 'other' }, { password: [String] }],
    [
      { device_name: 'x'.repeat(256) },
      { device_name: ['The device name field must not be greater than 255 characters.'] },
    ],
    [{ device_name: 'a\nb' }, { device_name: [disallowed] }],
    [{ device_name: 'a\0b' }, { device_name: [disallowed] }],
    [{ device_name: 5 }, { device_name: ['The device name field must be a string.'] }],
  ] as const) {
    const answer = await device.post(url, registration('new@example.com', { device_name: 'Phone', ...more }))
    t.equal(answer.statusCode, 422, JSON.stringify(more).slice(0, 60))
    t.match(answer.json().errors, errors)
    t.same(Object.keys(answer.json().errors), Object.keys(errors))
  }
  t.equal(await svc.database.prisma.user.count(), 1)
  const off = await buildTestApp(t, { settings: { registration: { enabled: false } } })
  t.equal((await new Device(off).post(url, registration('x@example.com'))).statusCode, 404)
  t.equal(await off.database.prisma.user.count(), 0)
})

t.test('creates one account for 20 parallel requests', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { register: null } } })
  const body = registration('grace@example.com', { device_name: 'Phone' })
  const answers = await Promise.all(Array.from({ length: 20 }, () => new Device(svc).post(url, body)))
  t.equal(answers.filter(({ statusCode }) => statusCode === 201).length, 1)
  t.ok(answers.every(({ statusCode }) => [201, 422, 503].includes(statusCode)))
  t.equal(await svc.database.prisma.personalAccessToken.count(), 1)
})

t.test('counts registrations of apps and browsers together', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { register: '2/1m' } } })
  const device = new Device(svc)
  t.equal((await device.post(url, registration('one@example.com'))).statusCode, 201)
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  t.equal((await spa.post('/register', registration('two@example.com'))).statusCode, 201)
  t.equal((await device.post(url, registration('three@example.com'))).statusCode, 429)
  svc.clock.advance(minute)
  t.equal((await device.post(url, registration('three@example.com'))).statusCode, 201)
})

t.test('ignores the session of a browser, and rejects pages of other origins', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(ada.email)
  const answer = await spa.post(url, registration('grace@example.com', { device_name: 'x' }))
  t.equal(answer.statusCode, 201, answer.body)
  t.equal(answer.headers['set-cookie'], undefined)
  t.equal((await spa.get('/api/user')).json().id, ada.id, 'still the same user')
  const form = new URLSearchParams(registration('form@example.com')).toString()
  const forged = await svc.app.inject({
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'https://evil.example',
      'sec-fetch-site': 'cross-site',
    },
    payload: form,
  })
  t.equal(forged.statusCode, 419)
  t.equal(forged.headers['set-cookie'], undefined)
  t.equal(await svc.database.prisma.user.count(), 2)
})

t.test('registers only addresses of the allowed domains', async (t) => {
  const svc = await buildTestApp(t, { settings: { registration: { allowed_domains: ['example.com'] } } })
  const device = new Device(svc)
  const refused = await device.post(url, registration('grace@example.org', { device_name: 'Phone' }))
  t.equal(refused.statusCode, 422, refused.body)
  t.same(Object.keys(refused.json().errors), ['email'])
  t.equal((await device.post(url, registration('grace@example.com'))).statusCode, 201)
})
