import t from 'tap'
import { mailedLink, registration, strongPassword, visitor } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { hour, minute, second } from '../../support/clock.ts'
import { cookieNames } from '../session/set-cookies.ts'

const taken = 'The email has already been taken.'

t.test('creates and signs in an account, mails the link, and ignores other fields', async (t) => {
  const svc = await buildTestApp(t)
  const spa = await visitor(svc)
  const before = { session: await spa.cookie('svc_session'), xsrf: await spa.cookie('XSRF-TOKEN') }
  const smuggled = {
    id: 99,
    role: 'admin',
    email_verified_at: '2020-01-01T00:00:00Z',
    emailVerifiedAt: '2020-01-01T00:00:00Z',
    verified: true,
    disabled_at: null,
    two_factor_secret: 'x',
    created_at: '2020-01-01',
    constructor: { role: 'admin' },
  }
  const answer = await spa.post('/register', registration('  Grace.Example@EXAMPLE.com ', smuggled))
  t.equal(answer.statusCode, 201, answer.body)
  t.equal(answer.body, '""')
  t.match(answer.headers['content-type'], /^application\/json/)
  t.strictSame(cookieNames(answer), ['XSRF-TOKEN', 'svc_session'])
  t.not(await spa.cookie('svc_session'), before.session, 'the session has a new id')
  t.not(await spa.cookie('XSRF-TOKEN'), before.xsrf)
  const user = (await spa.get('/api/user')).json()
  t.match(user, { name: 'Grace Example', email: 'grace.example@example.com', role: 'user', email_verified_at: null })
  t.not(user.id, 99)
  t.match(user.created_at, /^2026-11-20T/)
  const row = await svc.database.prisma.user.findFirstOrThrow()
  t.match(row.password, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  t.match(row, { disabledAt: null, twoFactorSecret: null, twoFactorConfirmedAt: null })
  t.ok(await mailedLink(svc, 'grace.example@example.com'))
  const types = (await svc.database.prisma.event.findMany({ orderBy: { id: 'asc' } })).map(({ type }) => type)
  t.strictSame(types, ['registered', 'verification_sent', 'login'])
  t.notOk(svc.logs.some((line) => line.includes(strongPassword)))
  t.equal((await svc.browser().signIn(' GRACE.example@example.com', strongPassword)).statusCode, 200)
})

t.test('assigns the configured role, and accepts remember in all its forms', async (t) => {
  const svc = await buildTestApp(t, {
    settings: { registration: { role: 'customer' }, rate_limits: { register: null } },
  })
  for (const [i, [remember, expected]] of [
    [true, true],
    ['on', true],
    ['1', true],
    [1, true],
    [null, false],
    ['no', false],
    [{ a: 1 }, false],
    [[true], false],
  ].entries()) {
    const spa = await visitor(svc)
    const answer = await spa.post('/register', registration(`grace${i}@example.com`, { remember }))
    t.equal(answer.statusCode, 201, answer.body)
    t.equal((await spa.cookie('svc_remember')) !== undefined, expected, JSON.stringify(remember))
    svc.clock.advance(3 * hour)
    const me = await spa.get('/api/user')
    t.equal(me.statusCode, expected ? 200 : 401)
    if (expected) t.equal(me.json().role, 'customer')
  }
})

t.test('reports errors by field in the texts that clients know, and creates nothing', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { register: null } } })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await visitor(svc)
  const long = 'The email field must not be greater than 255 characters.'
  const invalid = 'The email field must be a valid email address.'
  const cases: [object, Record<string, string[]>][] = [
    [{ name: undefined }, { name: ['The name field is required.'] }],
    [{ name: '  ' }, { name: ['The name field is required.'] }],
    [{ name: 5 }, { name: ['The name field must be a string.'] }],
    [{ name: 'n'.repeat(256) }, { name: ['The name field must not be greater than 255 characters.'] }],
    [{ email: undefined }, { email: ['The email field is required.'] }],
    [{ email: 'ada' }, { email: [invalid] }],
    [{ email: ['ada@example.com'] }, { email: ['The email field must be a string.'] }],
    [{ email: `${'a'.repeat(250)}@b.example` }, { email: [long, invalid] }],
    [{ email: 'a@b.example\r\nBcc: c@d.example' }, { email: [invalid] }],
    [{ email: 'a@b.example\0' }, { email: ['The email field contains characters that are not allowed.'] }],
    [{ name: '\ud800' }, { name: ['The name field contains characters that are not allowed.'] }],
    [{ email: ' ADA@example.com' }, { email: [taken] }],
    [{ password: undefined }, { password: ['The password field is required.'] }],
    [{ password: '' }, { password: ['The password field is required.'] }],
    [{ password: ['a'] }, { password: ['The password field must be a string.'] }],
    [{ password_confirmation: undefined }, { password: ['The password field confirmation does not match.'] }],
    [
      { password_confirmation: `${strongPassword} ` },
      { password: ['The password field confirmation does not match.'] },
    ],
    [
      { password: 'vqzx7', password_confirmation: 'x' },
      {
        password: [
          'The password field must be at least 8 characters.',
          'The password field confirmation does not match.',
        ],
      },
    ],
    [
      { password: '😀'.repeat(7), password_confirmation: '😀'.repeat(7) },
      { password: ['The password field must be at least 8 characters.'] },
    ],
    [
      { password: 'é'.repeat(1025), password_confirmation: 'é'.repeat(1025) },
      { password: ['The password field must not be greater than 1024 characters.'] },
    ],
  ]
  for (const [change, errors] of cases) {
    const answer = await spa.post('/register', registration('new@example.com', change))
    t.equal(answer.statusCode, 422, answer.body)
    t.strictSame(answer.json().errors, errors, JSON.stringify(change).slice(0, 80))
  }
  const empty = (await spa.post('/register', {})).json()
  t.strictSame(Object.keys(empty.errors).sort(), ['email', 'name', 'password'])
  t.equal(empty.message, 'The name field is required. (and 2 more errors)')
  for (const password of ['password', 'Password1', 'qwertyuiop', '12345678', 'iloveyou1', 'TRUSTNO1']) {
    const answer = await spa.post(
      '/register',
      registration('new@example.com', { password, password_confirmation: password }),
    )
    t.strictSame(answer.json().errors, {
      password: ['The given password has appeared in a data leak. Please choose a different password.'],
    })
  }
  t.equal(await svc.database.prisma.user.count(), 1)
  t.equal((await svc.mailbox.all()).length, 0)
  t.equal(await svc.database.prisma.event.count(), 0)
})

t.test('accepts unusual valid addresses, and treats equivalent spellings as one', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { register: null } } })
  const good = ['a@localhost', '"quoted..local"@example.com', "o'hara+tag@example.com", 'ü@bücher.example', '1@1.2.3.4']
  for (const email of good) {
    const answer = await (await visitor(svc)).post('/register', registration(email))
    t.equal(answer.statusCode, 201, `${email} ${answer.body}`)
    t.equal((await svc.browser().signIn(email, strongPassword)).statusCode, 200, email)
    // The mail receiver of the tests rejects quoted names.
    if (!email.startsWith('"')) t.equal((await svc.mailbox.to(email)).length, 1, `${email} is mailed`)
  }
  t.equal((await (await visitor(svc)).post('/register', registration('test@example.com'))).statusCode, 201)
  for (const email of [
    'TEST@EXAMPLE.COM',
    'test@EXAMPLE.com',
    'test@ｅｘａｍｐｌｅ.com',
    '\u00a0test@example.com\ufeff',
  ]) {
    const answer = await (await visitor(svc)).post('/register', registration(email))
    t.strictSame(answer.json().errors, { email: [taken] }, email)
  }
  // A mail server could read these letters as others: as those of another address, or as commas, at signs and spaces.
  const disguised = [
    'ｔｅｓｔ@example.com',
    'ⓣⓔⓢⓣ@example.com',
    '𝐭est@example.com',
    'mallory，ada@example.com',
    'ada＠bank.example，mallory@example.com',
    'a\u037eb@example.com',
    'ada＜mallory＞@example.com',
    'a\u00a0b@example.com',
    '℀\u00a8@example.com',
    `${'ﷺ'.repeat(200)}@example.com`,
    `${'㎨'.repeat(120)}@example.com`,
  ]
  for (const email of disguised) {
    const answer = await (await visitor(svc)).post('/register', registration(email))
    t.strictSame(answer.json().errors, { email: ['The email field must be a valid email address.'] }, email)
  }
})

t.test('creates one account for many concurrent registrations of one address', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { register: null } } })
  const spas = await Promise.all(Array.from({ length: 6 }, () => visitor(svc)))
  const spellings = ['race@example.com', 'RACE@example.com', 'Race@Example.com']
  const answers = await Promise.all(
    spas.map((spa, i) => spa.post('/register', registration(spellings[i % 3] ?? '', { name: `Runner ${i}` }))),
  )
  const statuses = answers.map(({ statusCode }) => statusCode)
  t.strictSame(statuses.sort(), [201, 422, 422, 422, 422, 422])
  for (const answer of answers.filter(({ statusCode }) => statusCode === 422)) {
    t.strictSame(answer.json().errors, { email: [taken] })
  }
  t.equal((await svc.mailbox.to('race@example.com')).length, 1)
  t.equal(await svc.database.prisma.session.count(), 1)
})

t.test('rejects the registration of a signed-in user, and keeps session and account', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email, undefined, { remember: true })
  const answer = await spa.post('/register', registration('second@example.com'))
  t.equal(answer.statusCode, 409)
  t.strictSame(answer.json(), { code: 'already_signed_in', message: 'You are signed in already.' })
  svc.clock.advance(3 * hour)
  t.equal(
    (await spa.post('/register', registration('second@example.com'))).statusCode,
    409,
    'a remembered browser is signed in',
  )
  t.equal((await spa.get('/api/user')).json().id, user.id)
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('limits by address, IPv6 by /64, and requires the CSRF token', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { register: '3/1m' } } })
  t.equal(
    (await svc.app.inject({ method: 'POST', url: '/register', payload: registration('a@b.example') })).statusCode,
    419,
  )
  for (let i = 1; i <= 3; i++) {
    const spa = await visitor(svc, { remoteAddress: `2001:db8:0:1::${i}` })
    const answer = await spa.post('/register', { email: 'no' }, { 'x-forwarded-for': `198.51.100.${i}` })
    t.equal(answer.statusCode, 422)
    t.match(answer.headers, { 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': String(3 - i) })
  }
  const next = await visitor(svc, { remoteAddress: '2001:db8:0:1:ffff::1' })
  svc.clock.advance(10 * second)
  const refused = await next.post('/register', registration('a@b.example'))
  t.equal(refused.statusCode, 429)
  t.strictSame(refused.json(), { message: 'Too Many Attempts.', code: 'too_many_requests' })
  t.match(refused.headers, { 'retry-after': '50', 'x-ratelimit-remaining': '0' })
  const neighbour = await visitor(svc, { remoteAddress: '2001:db8:0:2::1' })
  t.equal((await neighbour.post('/register', registration('a@b.example'))).statusCode, 201)
  svc.clock.advance(minute)
  t.equal((await next.post('/register', registration('c@b.example'))).statusCode, 201)
})

t.test('answers 404 when registration is off', async (t) => {
  const svc = await buildTestApp(t, { settings: { registration: { enabled: false } } })
  const answer = await (await visitor(svc)).post('/register', registration('a@b.example'))
  t.equal(answer.statusCode, 404)
  // Without a CSRF token, too: a route that does not exist needs none.
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' }
  for (const url of ['/register', '/oauth/register', '/svc/register']) {
    for (const payload of ['', '{"broken', JSON.stringify(registration('a@b.example'))]) {
      const headers = payload === '' ? form : { 'content-type': 'application/json' }
      const forged = await svc.app.inject({ method: 'POST', url, payload, headers })
      t.equal(forged.statusCode, 404, `${url} ${payload} ${forged.body}`)
    }
  }
  t.equal(await svc.database.prisma.user.count(), 0)
})
