import t from 'tap'
import { mailedLink, registration, strongPassword, visitor } from '../support/accounts.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { minute } from '../support/clock.ts'
import { beforeNextTransaction } from '../support/meanwhile.ts'
import { challenged, codeAt, confirmedBrowser, enableTwoFactor } from '../support/totp.ts'

const settings = { rate_limits: { mail: null } }
const factor = '/user/two-factor-authentication'

const move = async (spa: Browser, email: string) => {
  const answer = await spa.put('/user/profile-information', { name: 'Ada', email })
  if (answer.statusCode !== 200) throw new Error(answer.body)
}

/** A browser whose user follows the link to a new address. */
async function moving(svc: TestApp): Promise<{ spa: Browser; link: string }> {
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await confirmedBrowser(svc, 'ada@example.com')
  await move(spa, 'first@example.com')
  return { spa, link: await mailedLink(svc, 'first@example.com') }
}

t.test('rejects a link to a pending address that is replaced while the request is in flight', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { spa, link } = await moving(svc)
  beforeNextTransaction(svc, () => move(spa, 'second@example.com'))
  const answer = await spa.get(link)
  t.equal(answer.statusCode, 403, answer.body)
  const user = (await spa.get('/api/user')).json()
  t.match(user, { email: 'ada@example.com', pending_email: 'second@example.com' })
  const { prisma } = svc.database
  t.equal(await prisma.event.count({ where: { type: 'email_changed' } }), 0)
  t.equal((await spa.get(await mailedLink(svc, 'second@example.com'))).statusCode, 204, 'the new link works')
})

t.test(
  'rejects a link to a pending address when the current address changes while the request is in flight',
  async (t) => {
    const svc = await buildTestApp(t, { settings })
    const { spa, link } = await moving(svc)
    beforeNextTransaction(svc, async () => {
      await move(spa, 'second@example.com')
      await spa.get(await mailedLink(svc, 'second@example.com'))
      await move(spa, 'first@example.com')
    })
    const answer = await spa.get(link)
    t.equal(answer.statusCode, 403, answer.body)
    const user = (await spa.get('/api/user')).json()
    t.match(user, { email: 'second@example.com', pending_email: 'first@example.com' }, 'undo links name each address')
  },
)

t.test('does not verify an address that replaces an unverified one while the request is in flight', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const spa = await visitor(svc)
  await spa.post('/register', registration('ada@example.com'))
  await spa.post('/user/confirm-password', { password: strongPassword })
  const link = await mailedLink(svc, 'ada@example.com')
  beforeNextTransaction(svc, () => move(spa, 'victim@example.com'))
  await spa.get(link)
  const user = (await spa.get('/api/user')).json()
  t.match(user, { email: 'victim@example.com', email_verified_at: null })
  t.equal(await svc.database.prisma.event.count({ where: { type: 'email_verified' } }), 0)
})

t.test('rejects a code whose secret is replaced while the sign-in is in flight', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { browser, email, code } = await enableTwoFactor(svc)
  await browser.post('/user/confirm-password', { password: 'correct horse' })
  const guest = await challenged(svc, email)
  beforeNextTransaction(svc, () => browser.post(factor, { force: true }))
  const answer = await guest.post('/two-factor-challenge', { code: code() })
  t.equal(answer.statusCode, 422, answer.body)
  t.equal((await guest.get('/api/user')).statusCode, 401)
})

t.test(
  'confirms no second factor by the code of a secret that is replaced while the request is in flight',
  async (t) => {
    const svc = await buildTestApp(t, { settings })
    const { email } = await svc.createUser()
    const [tab, other] = [await confirmedBrowser(svc, email), await confirmedBrowser(svc, email)]
    await tab.post(factor)
    const secretOf = async () => (await other.get('/user/two-factor-secret-key')).json().secretKey
    const replaced = await secretOf()
    const confirm = (secret: string) =>
      tab.post('/user/confirmed-two-factor-authentication', { code: codeAt(secret, svc.clock.now()) })
    beforeNextTransaction(svc, () => other.post(factor, { force: true }))
    const answer = await confirm(replaced)
    t.equal(answer.statusCode, 422, answer.body)
    t.equal((await tab.get('/api/user')).json().two_factor_enabled, false, 'the user may not have the new secret')
    svc.clock.advance(minute)
    t.equal((await confirm(await secretOf())).statusCode, 200)
  },
)
