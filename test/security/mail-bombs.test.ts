import t, { type Test } from 'tap'
import { mailboxOf } from '../../src/platform/mail/budget.ts'
import { registration, strongPassword, visitor } from '../support/accounts.ts'
import { buildTestApp, type Settings, type TestApp } from '../support/app.ts'
import { minute, second } from '../support/clock.ts'
import { hasRedis, startRedis } from '../support/redis.ts'

/** One source address for each request, as a botnet has them. */
const from = (index: number) => ({ 'x-forwarded-for': `198.51.${index >> 8}.${index & 255}` })
const proxied: Settings = { server: { trust_proxy: ['127.0.0.1/32'] } }

const total = async (svc: TestApp, mailbox = 'victim@example.com') =>
  (await svc.mailbox.all()).filter(({ to }) => mailboxOf(to) === mailbox).length

t.test('maps every spelling of an address to its mailbox', async (t) => {
  const same = ['victim@example.com', 'Victim+a@example.com', 'victim+a+b@EXAMPLE.com', '"victim"@example.com']
  for (const email of [...same, '"vic\\tim+x"@example.com']) t.equal(mailboxOf(email), 'victim@example.com', email)
  t.equal(mailboxOf('a@xn--mnchen-3ya.example'), mailboxOf('a@münchen.example'))
  t.equal(mailboxOf('+a@example.com'), '+a@example.com')
  t.not(mailboxOf('vic.tim@example.com'), 'victim@example.com')
})

/** Registers tagged addresses of one mailbox from many source addresses; returns the statuses. */
async function flood(svc: TestApp, start: number, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let i = start; i < start + count; i++) {
    const browser = await visitor(svc)
    const answer = await browser.post('/register', registration(`victim+${i}@example.com`), from(i))
    statuses.push(answer.statusCode)
  }
  return statuses
}

async function limitsRegistrations(t: Test, settings: Settings): Promise<void> {
  const svc = await buildTestApp(t, { settings: { ...proxied, ...settings } })
  t.strictSame(await flood(svc, 0, 9), [201, 201, 201, 201, 201, 201, 429, 429, 429])
  t.equal(await total(svc), 6)
  t.equal(await svc.database.prisma.user.count(), 6, 'a rejected registration creates no account')
  let sent = 6
  for (const [index, wait] of [30 * second, minute, 2 * minute].entries()) {
    svc.clock.advance(wait - second)
    t.strictSame(await flood(svc, 100 + 10 * index, 1), [429], `rejected until ${wait} ms have passed`)
    svc.clock.advance(second)
    t.strictSame(await flood(svc, 105 + 10 * index, 2), [201, 429])
    t.equal(await total(svc), ++sent)
  }
  const neighbour = await visitor(svc)
  t.equal((await neighbour.post('/register', registration('other@example.com'), from(999))).statusCode, 201)
}

t.test('mails one mailbox less and less often for registrations from many source addresses', (t) =>
  limitsRegistrations(t, {}),
)

t.test('limits the same with Redis', async (t) => {
  if (!hasRedis(t)) return
  const redis = await startRedis(t)
  await limitsRegistrations(t, { redis: { url: redis.url } })
})

t.test('counts a registration on the mailbox, but not on its source address', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: '2/1m', register: null } } })
  // One address may cause twenty mails of other kinds.
  for (let i = 0; i < 22; i++) {
    const browser = await visitor(svc)
    t.equal((await browser.post('/register', registration(`person${i}@example.com`))).statusCode, 201)
  }
})

t.test('counts resends and resets of many accounts for the mailbox together', async (t) => {
  const svc = await buildTestApp(t, { settings: proxied })
  const accounts = await Promise.all(
    [1, 2, 3, 4].map(async (i) => {
      await svc.createUser({ email: `victim+${i}@example.com`, verified: false })
      const browser = svc.browser()
      await browser.signIn(`victim+${i}@example.com`)
      return browser
    }),
  )
  const statuses: number[] = []
  for (const [i, browser] of accounts.entries()) {
    for (let n = 0; n < 3; n++) {
      const { statusCode } = await browser.post('/email/verification-notification', {}, from(10 * i + n))
      statuses.push(statusCode)
    }
  }
  t.strictSame(statuses, [202, 202, 202, 202, 202, 202, 429, 429, 429, 429, 429, 429])
  const { headers, body } = (await accounts[3]?.post('/email/verification-notification', {}, from(99))) ?? {}
  t.match(headers, { 'retry-after': '30', 'x-ratelimit-limit': '6', 'x-ratelimit-remaining': '0' })
  t.match(JSON.parse(body ?? '{}'), { code: 'too_many_requests', message: 'Too Many Attempts.' })
  t.equal(await total(svc), 6)
  t.equal(await svc.database.prisma.event.count({ where: { type: 'verification_sent' } }), 6)

  const stranger = await visitor(svc)
  for (let i = 0; i < 6; i++)
    await stranger.post('/forgot-password', { email: `victim+a${i}@example.com` }, from(100 + i))
  const answers: string[] = []
  for (const [i, email] of ['victim+1@example.com', 'victim@example.com', 'unknown@example.com'].entries()) {
    const answer = await stranger.post('/forgot-password', { email }, from(200 + i))
    answers.push(`${answer.statusCode} ${answer.body}`)
  }
  t.equal(new Set(answers).size, 1, 'a reset request answers the same for every address')
  t.match(answers[0], /^200 /)
  t.equal(await total(svc), 6, 'no reset mail is sent')
  t.equal(await svc.database.prisma.passwordReset.count(), 0, 'and no reset token is stored')
  t.strictSame(await svc.database.prisma.outbox.findMany(), [], 'nothing is retried')
  svc.clock.advance(30 * second)
  await stranger.post('/forgot-password', { email: 'victim+1@example.com' }, from(300))
  t.equal(await total(svc), 7)
})

t.test('keeps an earlier reset link valid when the mail limit rejects another', async (t) => {
  const settings = { ...proxied, passwords: { reset_throttle: '0s' } }
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'victim@example.com' })
  const browser = await visitor(svc)
  for (let i = 0; i < 9; i++) {
    t.equal((await browser.post('/forgot-password', { email: 'victim@example.com' }, from(i))).statusCode, 200)
    await svc.mailbox.all()
  }
  const mails = await svc.mailbox.to('victim@example.com')
  t.equal(mails.length, 6)
  const [, token] = /reset-password\/(\w+)/.exec(mails.at(-1)?.text ?? '') ?? []
  const form = { email: 'victim@example.com', token, password: strongPassword, password_confirmation: strongPassword }
  t.equal((await browser.post('/reset-password', form)).statusCode, 200)
})

t.test('limits one source address over all its users and recipients, by its /64', async (t) => {
  const svc = await buildTestApp(t, { settings: proxied })
  const statuses: number[] = []
  for (let i = 0; i < 8; i++) {
    const browser = await visitor(svc)
    const header = { 'x-forwarded-for': `2001:db8:1:2::${i + 1}` }
    statuses.push((await browser.post('/forgot-password', { email: `person${i}@example.com` }, header)).statusCode)
  }
  t.strictSame(statuses, [200, 200, 200, 200, 200, 200, 429, 429])
  const other = await visitor(svc)
  const elsewhere = { 'x-forwarded-for': '2001:db8:1:3::1' }
  t.equal((await other.post('/forgot-password', { email: 'a@example.com' }, elsewhere)).statusCode, 200)
})

t.test('allows one source address ten times the mails of one user in an hour, then delays more and more', async (t) => {
  const svc = await buildTestApp(t)
  const users = []
  for (let i = 0; i < 70; i++) users.push(await svc.createUser())
  const browser = await visitor(svc)
  const statuses: number[] = []
  for (let minutes = 0; minutes < 11; minutes++) {
    for (let n = 0; n < 6; n++) {
      const { email } = users[statuses.length] ?? {}
      statuses.push((await browser.post('/forgot-password', { email })).statusCode)
    }
    await svc.mailbox.all()
    svc.clock.advance(minute)
  }
  t.same(statuses, [...Array(61).fill(200), ...Array(5).fill(429)])
  t.equal((await svc.mailbox.all()).length, 61, 'the sixty-first came after a wait')
})

t.test('does not exceed the budget of a mailbox with concurrent requests', async (t) => {
  const svc = await buildTestApp(t, { settings: proxied })
  const browsers = await Promise.all(Array.from({ length: 20 }, () => visitor(svc)))
  const answers = await Promise.all(
    browsers.map((browser, i) => browser.post('/register', registration(`victim+${i}@example.com`), from(i))),
  )
  const counts = [201, 429].map((status) => answers.filter(({ statusCode }) => statusCode === status).length)
  t.strictSame(counts, [6, 14])
  t.equal(await total(svc), 6)
})
