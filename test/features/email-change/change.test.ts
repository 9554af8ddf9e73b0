import t from 'tap'
import { pruneAccess } from '../../../src/auth/access/prune.ts'
import { mailedLink, registration, strongPassword, visitor } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { day, hour, minute } from '../../support/clock.ts'
import { runCommand } from '../../support/command.ts'
import { codeFlow, oauthSettings, Person } from '../../support/oauth.ts'

const page = { accept: 'text/html' }
const settings = { rate_limits: { mail: null } }

/** A signed-in browser with a recently confirmed password. */
async function confirmed(svc: TestApp, email: string): Promise<Browser> {
  const spa = svc.browser()
  await spa.signIn(email)
  await spa.post('/user/confirm-password', { password: 'correct horse' })
  return spa
}

const move = (spa: Browser, email: string, name = 'Ada') => spa.put('/user/profile-information', { name, email })
const me = async (spa: Browser) => (await spa.get('/api/user')).json()

t.test('keeps a verified address until the new one is verified', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await confirmed(svc, 'ada@example.com')
  t.notOk('pending_email' in (await me(spa)))
  t.equal((await move(spa, 'Lovelace@Example.com')).statusCode, 200)
  const pending = await me(spa)
  t.match(pending, { email: 'ada@example.com', pending_email: 'lovelace@example.com' })
  t.ok(pending.email_verified_at)
  t.equal((await svc.browser().signIn('ada@example.com')).statusCode, 200, 'the old address signs in')
  t.equal((await svc.browser().signIn('lovelace@example.com')).statusCode, 401, 'the new one does not')
  const [asked] = await svc.mailbox.to('lovelace@example.com')
  const change = 'The svc account with the address a…@example.com should get the new address lovelace@example.com.'
  t.match(asked?.text, change, 'a stranger with the new address does not read the whole old one')
  t.match(asked?.html, change)
  const [notice] = await svc.mailbox.to('ada@example.com')
  t.match(notice?.text, 'Old address: ada@example.com\nNew address: l…@example.com\n')
  const link = await mailedLink(svc, 'lovelace@example.com')
  t.equal((await svc.app.inject(link)).statusCode, 401, 'the link needs the session of its user')
  svc.clock.advance(minute)
  t.equal((await spa.get(link)).statusCode, 204)
  const after = await me(spa)
  t.match(after, { email: 'lovelace@example.com', email_verified_at: '2026-11-20T12:01:00.000000Z' })
  t.notOk('pending_email' in after)
  t.equal((await spa.get(link)).statusCode, 204, 'following it again changes nothing')
  t.equal((await svc.browser().signIn('ada@example.com')).statusCode, 401)
  t.equal((await svc.browser().signIn('lovelace@example.com')).statusCode, 200)
  const types = (await svc.database.prisma.event.findMany({ orderBy: { id: 'asc' } })).map(({ type }) => type)
  for (const type of ['email_change_requested', 'email_changed', 'email_verified']) {
    t.equal(types.filter((candidate) => candidate === type).length, 1, type)
  }
})

t.test('replaces a pending change by a later one, and invalidates its link', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await confirmed(svc, 'ada@example.com')
  await move(spa, 'first@example.com')
  const first = await mailedLink(svc, 'first@example.com')
  await move(spa, 'second@example.com')
  t.equal((await me(spa)).pending_email, 'second@example.com')
  t.equal((await spa.get(first)).statusCode, 403)
  t.match((await spa.get(first, page)).body, 'This link is for another account')
  t.equal((await move(spa, 'ada@example.com', 'Ada L.')).statusCode, 200)
  t.match(await me(spa), { name: 'Ada L.', pending_email: 'second@example.com' }, 'a new name keeps it pending')
  t.equal((await spa.get(await mailedLink(svc, 'second@example.com'))).statusCode, 204)
  t.equal((await me(spa)).email, 'second@example.com')
})

t.test('rejects the link of another user with the same pending address', async (t) => {
  const svc = await buildTestApp(t, { settings })
  for (const email of ['ada@example.com', 'bob@example.com']) await svc.createUser({ email })
  const [ada, bob] = [await confirmed(svc, 'ada@example.com'), await confirmed(svc, 'bob@example.com')]
  await move(ada, 'shared@example.com')
  const link = await mailedLink(svc, 'shared@example.com')
  await move(bob, 'shared@example.com')
  t.equal((await bob.get(link)).statusCode, 403)
  t.equal((await me(bob)).email, 'bob@example.com')
  t.equal((await ada.get(link)).statusCode, 204)
})

t.test('sends the verification mail again to the pending address', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await confirmed(svc, 'ada@example.com')
  t.equal((await spa.post('/email/verification-notification')).statusCode, 204)
  await move(spa, 'lovelace@example.com')
  t.equal((await svc.mailbox.to('lovelace@example.com')).length, 1)
  svc.clock.advance(2 * hour - minute)
  t.equal((await spa.post('/email/verification-notification')).statusCode, 202)
  t.equal((await svc.mailbox.to('lovelace@example.com')).length, 2)
  t.equal((await spa.get(await mailedLink(svc, 'lovelace@example.com'))).statusCode, 204)
})

t.test('changes an unverified address immediately', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const spa = await visitor(svc)
  await spa.post('/register', registration('grace@example.com'))
  await spa.post('/user/confirm-password', { password: strongPassword })
  t.equal((await move(spa, 'hopper@example.com')).statusCode, 200)
  const after = await me(spa)
  t.match(after, { email: 'hopper@example.com', email_verified_at: null })
  t.notOk('pending_email' in after)
  t.equal((await svc.mailbox.to('grace@example.com')).length, 1, 'no notice goes to an unverified address')
  t.equal((await spa.get(await mailedLink(svc, 'hopper@example.com'))).statusCode, 204)
})

t.test('changes the address immediately with email_change: immediate', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...settings, registration: { email_change: 'immediate' } } })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await confirmed(svc, 'ada@example.com')
  await move(spa, 'lovelace@example.com')
  const after = await me(spa)
  t.match(after, { email: 'lovelace@example.com', email_verified_at: null })
  t.notOk('pending_email' in after)
  const [notice] = (await svc.mailbox.to('ada@example.com')).slice(-1)
  t.match(notice, { subject: 'Your email address was changed', text: '/email/undo/' })
})

t.test('lets another user take an address that is only pending', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  await svc.createUser({ email: 'bob@example.com' })
  const ada = await confirmed(svc, 'ada@example.com')
  t.equal((await move(ada, 'bob@example.com')).statusCode, 422)
  await move(ada, 'wanted@example.com')
  const mine = await mailedLink(svc, 'wanted@example.com')
  const grace = await visitor(svc)
  t.equal((await grace.post('/register', registration('wanted@example.com'))).statusCode, 201)
  t.not(await mailedLink(svc, 'wanted@example.com'), mine)
  const refused = await ada.get(mine)
  t.equal(refused.statusCode, 422)
  t.strictSame(refused.json().errors, { email: ['The email has already been taken.'] })
  t.match((await ada.get(mine, page)).body, 'The email has already been taken.')
  t.match(await me(ada), { email: 'ada@example.com', pending_email: 'wanted@example.com' })
})

t.test('gives an address to one of two users who verify it concurrently', async (t) => {
  const svc = await buildTestApp(t, { settings })
  for (let round = 0; round < 3; round++) {
    const wanted = `wanted${round}@example.com`
    const emails = [`a${round}@example.com`, `b${round}@example.com`]
    const links: { spa: Browser; link: string }[] = []
    for (const email of emails) {
      await svc.createUser({ email })
      const spa = await confirmed(svc, email)
      t.equal((await move(spa, wanted)).statusCode, 200)
      links.push({ spa, link: await mailedLink(svc, wanted) })
    }
    const answers = await Promise.all(links.map(({ spa, link }) => spa.get(link)))
    t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [204, 422])
  }
})

t.test('resets the password through the old address while a new one is pending', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await confirmed(svc, 'ada@example.com')
  await move(spa, 'lovelace@example.com')
  const guest = await visitor(svc)
  for (const email of ['ada@example.com', 'lovelace@example.com']) await guest.post('/forgot-password', { email })
  const resets = (await svc.mailbox.all()).filter(({ subject }) => subject === 'Reset your password')
  t.strictSame(
    resets.map(({ to }) => to),
    ['ada@example.com'],
  )
  const [, token] = /reset-password\/(\w+)/.exec(resets[0]?.text ?? '') ?? []
  const form = { email: 'ada@example.com', token, password: strongPassword, password_confirmation: strongPassword }
  t.equal((await guest.post('/reset-password', form)).statusCode, 200)
  t.equal((await svc.browser().signIn('ada@example.com', strongPassword)).statusCode, 200)
})

t.test('drops a pending address with the password, so that its link cannot take the account over', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const passwords = { password: strongPassword, password_confirmation: strongPassword }
  const readPassword = async () => strongPassword
  const command = (...words: [string, string]) => runCommand({ ...svc, now: svc.clock.now(), readPassword }, ...words)
  const recoveries: Record<string, (browser: Browser, email: string) => Promise<unknown>> = {
    'a reset': async (browser, email) => {
      await browser.post('/forgot-password', { email })
      const token = await svc.mailbox.find(email, /reset-password\/(\w+)/)
      return browser.post('/reset-password', { email, token, ...passwords })
    },
    'a change': (browser) => browser.put('/user/password', { current_password: 'correct horse', ...passwords }),
    'an administrator': (_, email) => command('user:set-password', `--email=${email}`),
    'a suspension': async (_, email) => {
      await command('user:disable', `--email=${email}`)
      await command('user:enable', `--email=${email}`)
    },
  }
  for (const [index, [how, recover]] of Object.entries(recoveries).entries()) {
    const [email, evil] = [`ada${index}@example.com`, `evil${index}@example.com`]
    await svc.createUser({ email })
    const attacker = await confirmed(svc, email)
    await move(attacker, evil)
    const link = await mailedLink(svc, evil)
    const owner = svc.browser()
    await owner.signIn(email)
    await recover(owner, email)
    const password = how === 'a suspension' ? 'correct horse' : strongPassword
    t.equal((await owner.signIn(email, password)).statusCode, 200, how)
    // The attacker lures the owner to the link.
    t.equal((await owner.get(link, page)).statusCode, 403, how)
    t.match(await me(owner), { email, pending_email: undefined }, how)
    t.match((await svc.mailbox.to(email)).map(({ text }) => text).join(), '/email/undo/', 'the owner can still undo')
  }
})

t.test('invalidates a reset of the old address once the new one is in use', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await confirmed(svc, 'ada@example.com')
  const guest = await visitor(svc)
  await guest.post('/forgot-password', { email: 'ada@example.com' })
  const reset = (await svc.mailbox.to('ada@example.com')).at(-1)
  const [, token] = /reset-password\/(\w+)/.exec(reset?.text ?? '') ?? []
  await move(spa, 'lovelace@example.com')
  t.equal((await spa.get(await mailedLink(svc, 'lovelace@example.com'))).statusCode, 204)
  for (const email of ['ada@example.com', 'lovelace@example.com']) {
    const form = { email, token, password: strongPassword, password_confirmation: strongPassword }
    t.equal((await guest.post('/reset-password', form)).statusCode, 422)
  }
  t.equal(await svc.database.prisma.passwordReset.count(), 0)
})

t.test('shows only the verified address to clients and at UserInfo', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...oauthSettings, ...settings } })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await confirmed(svc, 'ada@example.com')
  const userInfo = async (token: string) => (await svc.bearer(token, 'GET', '/oauth/userinfo')).json()
  await move(spa, 'lovelace@example.com')
  const person = new Person(svc, 'ada@example.com')
  const { access_token, id_token = '' } = await codeFlow(svc, person, 'web', { scope: 'openid email' })
  t.match(await userInfo(access_token), { email: 'ada@example.com', email_verified: true })
  t.notMatch(JSON.stringify(await userInfo(access_token)), 'lovelace')
  t.notMatch(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString(), 'lovelace')
  t.equal((await spa.get(await mailedLink(svc, 'lovelace@example.com'))).statusCode, 204)
  t.match(await userInfo(access_token), { email: 'lovelace@example.com', email_verified: true })
})

t.test('rejects invalid input in the link without a change', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  await svc.createUser({ email: 'eve@example.com' })
  const spa = await confirmed(svc, 'ada@example.com')
  const eve = await confirmed(svc, 'eve@example.com')
  await move(spa, 'lovelace@example.com')
  const link = await mailedLink(svc, 'lovelace@example.com')
  t.equal((await eve.get(link)).statusCode, 403, 'another user')
  t.equal((await spa.get(`${link}x`)).statusCode, 403, 'a changed signature')
  svc.clock.advance(hour)
  t.equal((await spa.get(link)).statusCode, 403, 'an expired link')
  t.match(await me(spa), { email: 'ada@example.com', pending_email: 'lovelace@example.com' })
})

t.test('prunes changes that can no longer be undone', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'ada@example.com' })
  await move(await confirmed(svc, 'ada@example.com'), 'lovelace@example.com')
  await pruneAccess(svc.database, svc.config.current(), svc.clock.now())
  t.equal(await svc.database.prisma.emailChange.count(), 1)
  await pruneAccess(svc.database, svc.config.current(), svc.clock.now() + 7 * day + 1)
  t.equal(await svc.database.prisma.emailChange.count(), 0)
})
