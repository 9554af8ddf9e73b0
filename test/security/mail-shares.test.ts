import t from 'tap'
import { registration, visitor } from '../support/accounts.ts'
import { openAdmin } from '../support/admin.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { Browser } from '../support/browser.ts'
import { hour, second } from '../support/clock.ts'
import { until } from '../support/until.ts'

const email = 'victim@example.com'

/** Strangers spend what guests may cause to a mailbox, from many addresses. */
async function flood(svc: TestApp): Promise<void> {
  for (let i = 0; i < 8; i++) {
    const guest = new Browser(svc.app, { remoteAddress: `198.51.100.${i}` })
    await guest.get('/svc/csrf-cookie')
    await guest.post('/register', registration(`victim+${i}@example.com`))
    await guest.post('/forgot-password', { email })
    await guest.post('/login/email-code', { email })
  }
  await svc.app.outbox.deliverDue()
}

const subjects = async (svc: TestApp) => (await svc.mailbox.to(email)).map(({ subject }) => subject)
const settings = { login: { email_code: true }, registration: { enabled: true } }

t.test('strangers cannot stop the mails that the owner of a mailbox asks for in a known browser', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email })
  const known = svc.browser()
  await known.signIn(email)
  await known.post('/logout')
  await flood(svc)
  const before = await subjects(svc)
  const guest = await visitor(svc)
  t.equal((await guest.post('/forgot-password', { email })).statusCode, 200, 'the same response as always')
  t.strictSame(await subjects(svc), before, 'but no mail')
  svc.clock.advance(61 * second)
  t.equal((await known.post('/forgot-password', { email })).statusCode, 200)
  t.equal((await known.post('/login/email-code', { email })).statusCode, 202)
  t.equal((await subjects(svc)).length, before.length + 2)
})

t.test('strangers cannot stop the mails of administrators and of svc', async (t) => {
  const { svc, call } = await openAdmin(t, settings)
  const owner = await svc.createUser({ email })
  await flood(svc)
  const count = async () => (await subjects(svc)).length
  let before = await count()
  await call('POST', `/users/${owner.id}/reset-link`, { mail: true })
  t.equal(await count(), before + 1, 'a reset link of an administrator')
  t.equal((await call('POST', '/invitations', { email: 'victim+new@example.com' })).statusCode, 201)
  t.equal((await svc.mailbox.to('victim+new@example.com')).length, 1, 'an invitation')
  before = await count()
  const rule = { max: 50, window: hour, block: 'growing' } as const
  for (let i = 0; i < 49; i++) await svc.app.counters.hit(`account:${email}`, rule, svc.clock.now())
  await svc.browser().signIn(email, 'wrong')
  await until(async () => (await count()) === before + 1)
  t.match((await svc.mailbox.to(email)).at(-1)?.text, /\/unlock\//, 'an unlock link of svc')
})

t.test('a signed-in stranger spends no share of the owner', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email })
  const known = svc.browser()
  await known.signIn(email)
  await known.post('/logout')
  const strangers = await Promise.all(Array.from({ length: 3 }, () => svc.createUser()))
  for (const [i, stranger] of strangers.entries()) {
    const browser = new Browser(svc.app, { remoteAddress: `198.51.100.${i}` })
    await browser.signIn(stranger.email)
    await browser.post('/user/confirm-password', { password: 'correct horse' })
    for (let n = 0; n < 4; n++) {
      const address = `victim+${i}${n}@example.com`
      await browser.put('/user/profile-information', { name: 'M', email: address })
    }
  }
  const before = (await subjects(svc)).length
  await known.post('/forgot-password', { email })
  t.equal((await subjects(svc)).length, before + 1)
})

t.test('the owner sees in the activity that mails were not sent, once for many', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email })
  const known = svc.browser()
  await known.signIn(email)
  await flood(svc)
  for (let i = 0; i < 20; i++) {
    const guest = new Browser(svc.app, { remoteAddress: '198.51.100.200' })
    await guest.get('/svc/csrf-cookie')
    await guest.post('/forgot-password', { email })
    svc.clock.advance(61_000)
  }
  await svc.app.outbox.deliverDue()
  const events = await svc.database.prisma.event.findMany({ where: { type: 'mail_not_sent' } })
  t.ok(events.length > 0)
  t.ok(events.length < 20)
  t.ok(
    events.every(
      ({ reason, data }) => reason === 'mail_limit' && /"template":"(reset-password|login-code)"/.test(data),
    ),
  )
  const activity = await known.get('/account/activity', { accept: 'text/html' })
  t.match(activity.body, /Mail not sent/)
})
