import t from 'tap'
import { mailedLink, strongPassword } from '../../support/accounts.ts'
import { buildTestApp, confirming, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { hour, minute, second } from '../../support/clock.ts'

const password = 'correct horse'

async function signedIn(svc: TestApp, email: string, more: object = {}): Promise<Browser> {
  await svc.createUser({ email })
  const spa = svc.browser()
  await spa.signIn(email, password, more)
  return spa
}

const confirm = (spa: Browser) => spa.post('/user/confirm-password', { password })
const put = (spa: Browser, body: object) => spa.put('/user/profile-information', body)
const eventTypes = async (svc: TestApp) =>
  (await svc.database.prisma.event.findMany({ orderBy: { id: 'asc' } })).map(({ type }) => type)

t.test('changes the name without confirmation, and ignores other fields', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const spa = await signedIn(svc, 'ada@example.com')
  svc.clock.advance(minute)
  const before = (await spa.get('/api/user')).json()
  const smuggled = {
    id: 7,
    role: 'admin',
    email_verified_at: null,
    password: 'x',
    two_factor_enabled: true,
    disabled_at: 1,
  }
  const answer = await put(spa, { name: '  Ada Lovelace ', email: 'ADA@example.com', ...smuggled })
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.body, '""')
  const after = (await spa.get('/api/user')).json()
  t.strictSame(after, { ...before, name: 'Ada Lovelace', updated_at: after.updated_at })
  t.not(after.updated_at, before.updated_at)
  t.strictSame(await eventTypes(svc), ['login', 'profile_updated'])
  t.equal((await svc.mailbox.all()).length, 0)
})

t.test(
  'requires a recent password for a new address, waits for its verification, and mails both addresses',
  async (t) => {
    const svc = await buildTestApp(t, { settings: confirming })
    const spa = await signedIn(svc, 'ada@example.com')
    const { prisma } = svc.database
    await svc.browser().post('/forgot-password', { email: 'ada@example.com' }, { 'sec-fetch-site': 'same-origin' })
    await svc.mailbox.all()
    t.equal(await prisma.passwordReset.count(), 1)
    const moved = { name: 'Ada', email: 'Lovelace@example.com' }
    const refused = await put(spa, moved)
    t.equal(refused.statusCode, 423)
    t.strictSame(refused.json(), { message: 'Password confirmation required.', code: 'password_confirmation_required' })
    t.equal((await spa.get('/api/user')).json().name, 'Ada Example', 'not even the name')
    await confirm(spa)
    svc.clock.advance(3 * hour + second)
    t.equal((await put(spa, moved)).statusCode, 401, 'the session itself expired meanwhile')
    const again = svc.browser()
    await again.signIn('ada@example.com')
    await confirm(again)
    t.equal((await put(again, moved)).statusCode, 200)
    t.match((await again.get('/api/user')).json(), { email: 'ada@example.com', pending_email: 'lovelace@example.com' })
    t.equal(await prisma.passwordReset.count(), 1)
    const [notice] = (await svc.mailbox.to('ada@example.com')).slice(-1)
    t.equal(notice?.subject, 'Your email address is about to change')
    t.match(notice?.text, 'l…@example.com')
    t.notMatch(notice?.raw, 'lovelace')
    t.equal((await again.get(await mailedLink(svc, 'lovelace@example.com'))).statusCode, 204)
    t.equal(await prisma.passwordReset.count(), 0, 'a pending reset of the old address is invalid')
    t.equal((await svc.browser().signIn('ada@example.com')).statusCode, 401)
    t.equal((await svc.browser().signIn('lovelace@example.com')).statusCode, 200)
  },
)

t.test('reports errors at their fields, without a change', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  await svc.createUser({ email: 'bob@example.com' })
  const spa = await signedIn(svc, 'ada@example.com')
  await confirm(spa)
  const before = (await spa.get('/api/user')).json()
  const taken = { email: ['The email has already been taken.'] }
  const cases: [object, object][] = [
    [{ name: 'A', email: 'BOB@example.com' }, taken],
    [{ name: 'A', email: ' BOB@example.COM' }, taken],
    [{ email: 'ada@example.com' }, { name: ['The name field is required.'] }],
    [{ name: 'A' }, { email: ['The email field is required.'] }],
    [
      { name: null, email: null },
      { name: ['The name field is required.'], email: ['The email field is required.'] },
    ],
    [
      { name: ['A'], email: {} },
      { name: ['The name field must be a string.'], email: ['The email field must be a string.'] },
    ],
    [{ name: 'A', email: 'x' }, { email: ['The email field must be a valid email address.'] }],
    [{ name: 'A', email: 'a@b.c\r\nBcc: d@e.f' }, { email: ['The email field must be a valid email address.'] }],
    [{ name: 'A', email: 'x，bob@example.com' }, { email: ['The email field must be a valid email address.'] }],
  ]
  for (const [body, errors] of cases) {
    const answer = await put(spa, body)
    t.equal(answer.statusCode, 422, answer.body)
    t.strictSame(answer.json().errors, errors, JSON.stringify(body))
  }
  t.strictSame((await spa.get('/api/user')).json(), before)
  t.equal((await svc.mailbox.all()).length, 0)
})

t.test('limits the number of mailed addresses', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const spa = await signedIn(svc, 'ada@example.com')
  await confirm(spa)
  for (let i = 0; i < 6; i++)
    t.equal((await put(spa, { name: 'Ada', email: `victim${i}@example.com` })).statusCode, 200)
  const refused = await put(spa, { name: 'Ada', email: 'victim6@example.com' })
  t.equal(refused.statusCode, 429)
  t.equal(refused.headers['retry-after'], '60')
  t.equal((await spa.post('/email/verification-notification')).statusCode, 429, 'they count together')
  t.equal(
    (await put(spa, { name: 'Ada L.', email: 'victim5@example.com' })).statusCode,
    200,
    'a new name sends no mail',
  )
  t.equal((await svc.mailbox.to('victim6@example.com')).length, 0)
})

t.test('gives an address to one of two users who request it concurrently', async (t) => {
  const svc = await buildTestApp(t, {
    settings: { rate_limits: { mail: null }, registration: { email_change: 'immediate' } },
  })
  for (let round = 0; round < 4; round++) {
    const spas = await Promise.all([signedIn(svc, `a${round}@example.com`), signedIn(svc, `b${round}@example.com`)])
    await Promise.all(spas.map(confirm))
    const email = `wanted${round}@example.com`
    const answers = await Promise.all(spas.map((spa) => put(spa, { name: 'A', email })))
    t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 422])
    t.equal((await svc.mailbox.to(email)).length, 1)
    const loser = spas[answers.findIndex(({ statusCode }) => statusCode === 422)]
    t.match((await loser?.get('/api/user'))?.json(), { name: 'Ada Example', email: /^[ab]\d@/ })
  }
})

t.test('escapes a name wherever it is shown, and never mails it', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  const names = ['Free money at https://evil.example', '<img src=x onerror=alert(1)>', '<%= 7 * 7 %>{{7*7}}']
  for (const [i, name] of names.entries()) {
    const email = `grace${i}@example.com`
    const body = { name, email, password: strongPassword, password_confirmation: strongPassword }
    const browser = svc.browser()
    await browser.get('/svc/csrf-cookie')
    t.equal((await browser.post('/register', body)).statusCode, 201)
    await browser.post('/user/confirm-password', { password: strongPassword })
    await put(browser, { name, email: `hopper${i}@example.com` })
    const changed = {
      current_password: strongPassword,
      password: `${strongPassword}!`,
      password_confirmation: `${strongPassword}!`,
    }
    await browser.put('/user/password', changed)
    t.equal((await browser.get('/api/user')).json().name, name)
    const home = await browser.get('/', { accept: 'text/html' })
    t.equal(home.statusCode, 200)
    t.notMatch(home.body, /<img src=x|>49</)
    // A deletion removes mails that are still waiting.
    await svc.mailbox.all()
    await browser.delete('/user')
  }
  const mails = await svc.mailbox.all()
  t.equal(mails.length, 2 * names.length, 'two verification mails each; an unverified address gets no notices')
  for (const mail of mails) t.notMatch(mail.raw + mail.text + mail.html, /evil|onerror|bob@|7 \* 7/)
})
