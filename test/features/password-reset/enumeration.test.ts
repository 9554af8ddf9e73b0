// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { minute, second } from '../../support/clock.ts'

const sent = 'We have emailed your password reset link.'
const unknown = "We can't find a user with that email address."

const forgot = async (svc: TestApp, email: string, headers = {}) => {
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  return browser.post('/forgot-password', { email }, headers)
}

const reset = async (svc: TestApp, email: string) => {
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  const password = 'a new passphrase'
  return browser.post('/reset-password', { email, token: 'x'.repeat(64), password, password_confirmation: password })
}

/** All rows that a request created, before the outbox processes them. */
async function rows({ database: { prisma } }: TestApp): Promise<Record<string, number>> {
  return {
    outbox: await prisma.outbox.count(),
    resets: await prisma.passwordReset.count(),
    events: await prisma.event.count(),
    sessions: await prisma.session.count(),
    // Counts by the client's address, the same for every account.
    limits: await prisma.loginLimit.count(),
  }
}

t.test('answers the same with the same work for known, unknown, disabled and throttled addresses', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: '100/1m' } } })
  // Postponed work is not run, so that it can be counted.
  svc.app.outbox.close()
  const [known, disabled] = [await svc.createUser(), await svc.createUser()]
  await svc.database.prisma.user.update({ where: { email: disabled.email }, data: { disabledAt: new Date(0) } })
  const statements: string[] = []
  const work = svc.database.transaction.bind(svc.database)
  svc.database.transaction = (run) => {
    statements.push('transaction')
    return work(run)
  }
  const seen: unknown[] = []
  for (const email of [known.email, 'unknown@example.com', disabled.email, known.email, 'x@localhost']) {
    const before = await rows(svc)
    statements.length = 0
    const answer = await forgot(svc, email)
    const after = await rows(svc)
    const { date: _, ...headers } = answer.headers
    delete headers['x-ratelimit-remaining']
    seen.push({
      status: answer.statusCode,
      body: answer.body,
      headers,
      statements: [...statements],
      left: Object.keys(after).map((name) => (after[name] ?? 0) - (before[name] ?? 0)),
    })
  }
  const [first, ...others] = seen
  t.match(first, { status: 200, body: JSON.stringify({ message: sent, status: sent }), statements: ['transaction'] })
  for (const other of others) {
    // Only the first request creates the counters of the client's address, and each address creates its own.
    const limits = others.indexOf(other) === 2 ? 0 : 2
    t.strictSame(other, { ...(other as object), ...(first as object), left: [1, 0, 0, 0, limits] })
  }
})

t.test('sends one mail a minute to an address, for any number of clients', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: '100/1m' } } })
  const { email } = await svc.createUser()
  const mails = async () => (await svc.mailbox.to(email)).length
  await Promise.all([1, 2, 3].map(() => forgot(svc, email)))
  t.equal(await mails(), 1)
  svc.clock.advance(59 * second)
  t.equal((await forgot(svc, email)).json().message, sent)
  t.equal(await mails(), 1)
  svc.clock.advance(second)
  await forgot(svc, email)
  t.equal(await mails(), 2)
  await forgot(svc, 'unknown@example.com')
  t.equal((await svc.mailbox.all()).length, 2)

  const eager = await buildTestApp(t, { settings: { passwords: { reset_throttle: '0s' } } })
  const user = await eager.createUser()
  await forgot(eager, user.email)
  await eager.mailbox.all()
  await forgot(eager, user.email)
  t.equal((await eager.mailbox.to(user.email)).length, 2)
})

t.test("limits the client's address, whatever it requests", async (t) => {
  const svc = await buildTestApp(t)
  for (let i = 0; i < 6; i++) t.equal((await forgot(svc, `unknown${i}@example.com`)).statusCode, 200)
  const refused = await forgot(svc, 'unknown@example.com')
  t.equal(refused.statusCode, 429)
  t.equal(refused.headers['retry-after'], '60')
  t.equal(refused.headers['x-ratelimit-remaining'], '0')
  svc.clock.advance(minute)
  t.equal((await forgot(svc, 'unknown@example.com')).statusCode, 200)
})

t.test('reports unknown and throttled addresses where the configuration allows it', async (t) => {
  const svc = await buildTestApp(t, { settings: { passwords: { reveal_unknown_email: true } } })
  const { email } = await svc.createUser()
  const notFound = await forgot(svc, 'unknown@example.com')
  t.equal(notFound.statusCode, 422)
  t.strictSame(notFound.json().errors, { email: [unknown] })
  t.equal((await forgot(svc, email)).json().message, sent)
  const again = await forgot(svc, email)
  t.equal(again.statusCode, 422)
  t.strictSame(again.json().errors, { email: ['Please wait before retrying.'] })
  t.equal((await svc.mailbox.to(email)).length, 1)
  t.strictSame((await reset(svc, 'unknown@example.com')).json().errors, { email: [unknown] })
  t.strictSame((await reset(svc, email)).json().errors, { email: ['This password reset token is invalid.'] })
  await svc.database.prisma.user.update({ where: { email }, data: { disabledAt: new Date(0) } })
  svc.clock.advance(minute)
  t.strictSame((await forgot(svc, email)).json().errors, { email: [unknown] }, 'disabled users count as unknown')
  t.strictSame((await reset(svc, email)).json().errors, { email: [unknown] })
})

t.test('builds links from the configuration, whatever a request claims', async (t) => {
  for (const [settings, start] of [
    [{}, 'http://localhost:8000/reset-password/'],
    [{ app: { frontend_url: 'https://app.example' } }, 'https://app.example/reset-password/'],
    [{ links: { reset: 'https://id.example/new?t={token}&m={email}' } }, 'https://id.example/new?t='],
  ] as const) {
    const svc = await buildTestApp(t, { settings: { ...settings, server: { trust_proxy: ['127.0.0.1'] } } })
    const { email } = await svc.createUser({ email: 'a+b&c=d@example.com' })
    await forgot(svc, email, {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-original-url': 'https://evil.example/',
      forwarded: 'host=evil.example',
    })
    const [mail] = await svc.mailbox.to(email)
    t.ok(mail, 'a mail arrived')
    t.notMatch(mail?.raw, 'evil.example')
    const link = /https?:\S*[0-9a-f]{64}\S*/.exec(mail?.text ?? '')?.[0] ?? ''
    t.ok(link.startsWith(start), link)
    t.ok([...new URL(link).searchParams.values()].includes(email), 'the address still works')
  }
})

t.test('rejects odd and oversized input', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: '1000/1m' } } })
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  const odd = [
    null,
    '',
    0,
    true,
    [],
    {},
    ['a@b.c'],
    { contains: '@' },
    'a',
    'a@b.c\0',
    '\ud800@b.c',
    'a\r\nBcc: x@y.z@b.c',
    'x'.repeat(90_000),
  ]
  for (const email of odd) {
    const answer = await browser.post('/forgot-password', { email })
    t.equal(answer.statusCode, 422, JSON.stringify(email)?.slice(0, 40))
  }
  const good = { email: 'a@example.com', token: 'x', password: 'long enough!', password_confirmation: 'long enough!' }
  for (const field of ['email', 'token', 'password', 'password_confirmation']) {
    for (const value of [...odd, '%', '../..', "' OR 1=1 --", '🔑'.repeat(300)]) {
      const answer = await browser.post('/reset-password', { ...good, [field]: value })
      t.equal(answer.statusCode, 422, `${field}: ${JSON.stringify(value)?.slice(0, 40)}`)
    }
  }
  t.equal((await browser.post('/forgot-password', { email: 'x'.repeat(200_000) })).statusCode, 413)
  for (const path of ['/forgot-password', '/reset-password']) {
    t.equal((await browser.post(path, good, { 'x-xsrf-token': 'x' })).statusCode, 419, path)
  }
  t.equal(await svc.database.prisma.outbox.count(), 0)
})

t.test('drops a mail whose link expired before it could be sent', async (t) => {
  const mail = { url: 'smtp://127.0.0.1:1' }
  const svc = await buildTestApp(t, { settings: { mail, passwords: { reset_expires: '10m' } } })
  const { email } = await svc.createUser()
  await forgot(svc, email)
  await svc.app.outbox.deliverDue()
  const waiting = () => svc.database.prisma.outbox.findFirstOrThrow({ where: { kind: 'mail' } })
  t.equal((await waiting()).failedAt, null, 'attempted, and to be retried')
  svc.clock.advance(10 * minute + second)
  await svc.app.outbox.deliverDue()
  t.match(await waiting(), { failedAt: Date, lastError: 'The mail has expired.' })
})
