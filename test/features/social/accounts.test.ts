import t from 'tap'
import { isPassword } from '../../../src/platform/crypto/stored-password.ts'
import { mailedLink } from '../../support/accounts.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { day } from '../../support/clock.ts'
import { challenged, enableTwoFactor } from '../../support/totp.ts'
import { buildSocial, failure, frontEnd, type Social, Visitor } from './visitor.ts'

const email = 'grace@example.com'

/** All credentials of an account. */
async function keysOf({ database: { prisma } }: Social, id: number) {
  const userId = BigInt(id)
  const row = await prisma.user.findUniqueOrThrow({ where: { id: userId } })
  return {
    password: isPassword(row.password),
    factor: row.twoFactorSecret !== null,
    verified: row.emailVerifiedAt !== null,
    sessions: await prisma.session.count({ where: { userId } }),
    remembered: await prisma.rememberToken.count({ where: { userId } }),
    tokens: await prisma.personalAccessToken.count({ where: { tokenableId: userId } }),
    passkeys: await prisma.passkey.count({ where: { userId } }),
    links: await prisma.socialAccount.findMany({ where: { userId }, select: { provider: true, providerId: true } }),
  }
}

const onlyTheLink = { links: [{ provider: 'acme', providerId: 'grace' }] }

t.test('removes all access of an attacker who registered an address first, when its owner signs in', async (t) => {
  const svc = await buildSocial(t, { acme: { trust_email: true } })
  const user = await svc.createUser({ email, verified: false })
  const { prisma } = svc.database
  await prisma.user.update({
    where: { id: BigInt(user.id) },
    data: { username: 'the-choice-of-the-thief', attributes: '{"given_name":"Eve","fields":{"team":"x"}}' },
  })
  const thief = await enableTwoFactor(svc, user)
  const remembered = await challenged(svc, email, { remember: true })
  await remembered.post('/two-factor-challenge', { code: thief.code() })
  const apiToken = await svc.createToken(user)
  const authenticator = new Authenticator()
  const { options } = (await thief.browser.get('/user/passkeys/options')).json()
  await thief.browser.post('/user/passkeys', { name: 'Mine', credential: authenticator.register(options) })
  const waiting = await challenged(svc, email)
  const now = new Date(svc.clock.now())
  const link = { provider: 'github', providerId: '666', userId: BigInt(user.id), createdAt: now, updatedAt: now }
  await prisma.socialAccount.create({ data: link })
  t.match(await keysOf(svc, user.id), {
    password: true,
    factor: true,
    sessions: 2,
    remembered: 1,
    tokens: 1,
    passkeys: 1,
  })

  const owner = new Visitor(svc)
  t.equal((await owner.signIn('grace')).headers.location, `${frontEnd}/`, "without the attacker's second factor")
  t.match(await owner.user(), { id: user.id, email, email_verified_at: String, username: /^ada-example-/ })
  t.notHas(await owner.user(), { given_name: '' })
  t.strictSame(await keysOf(svc, user.id), {
    ...{ password: false, factor: false, verified: true, sessions: 1, remembered: 0, tokens: 0, passkeys: 0 },
    ...onlyTheLink,
  })
  for (const spa of [thief.browser, remembered]) t.equal((await spa.get('/api/user')).statusCode, 401)
  t.equal((await svc.bearer(apiToken, 'GET', '/api/user')).statusCode, 401)
  t.equal((await svc.browser().signIn(email)).statusCode, 401, 'the password')
  t.equal((await waiting.post('/two-factor-challenge', { code: thief.code(1) })).statusCode, 422)
  t.equal(await prisma.event.count({ where: { type: 'account_claimed' } }), 1)
  t.ok((await svc.mailbox.to(email)).some(({ subject }) => subject === 'Your password was removed'))
})

t.test('links accounts with the same verified address, and keeps everything', async (t) => {
  const svc = await buildSocial(t, { acme: { trust_email: true } })
  const user = await svc.createUser({ email: 'GRACE@example.com' })
  const apiToken = await svc.createToken(user)
  const spa = svc.browser()
  await spa.signIn(email)
  const grace = new Visitor(svc)
  t.equal((await grace.signIn('grace')).headers.location, `${frontEnd}/`)
  t.equal((await grace.user())?.id, user.id)
  t.match(await keysOf(svc, user.id), { password: true, sessions: 2, tokens: 1, ...onlyTheLink })
  t.equal((await svc.bearer(apiToken, 'GET', '/api/user')).statusCode, 200)
  t.equal((await spa.get('/api/user')).statusCode, 200)
  const notices = (await svc.mailbox.to(user.email)).map(({ subject, text }) => subject + text)
  t.ok(
    notices.some((text) => text.includes('Acme')),
    'the owner is notified of the link',
  )
})

t.test('never links by an address that the provider did not verify or may not verify', async (t) => {
  const svc = await buildSocial(t, { acme: { trust_email: true } })
  const distrusted = await buildSocial(t, { acme: { trust_email: false } })
  for (const verified of [true, false]) {
    for (const [at, login] of [
      [svc, 'unproven'],
      [distrusted, 'grace'],
    ] as const) {
      const address = `${login}@example.com`
      await at.database.prisma.user.deleteMany({ where: { email: address } })
      const { id } = await at.createUser({ email: address, verified })
      const visitor = new Visitor(at)
      t.equal(failure(await visitor.signIn(login)), 'account_exists', `${login}, ${verified}`)
      t.equal(await visitor.user(), null)
      t.match(await keysOf(at, id), { password: true, verified, sessions: 0, links: [] })
      const program = new Visitor(at)
      const back = await program.allow(await program.begin(), login)
      const answer = await program.browser.get(back.pathname + back.search)
      t.equal(answer.statusCode, 409)
      t.match(answer.json(), { code: 'account_exists' })
    }
  }
  for (const odd of ['false', 0, 'yes', [true], {}]) {
    await svc.database.prisma.user.deleteMany({ where: { email } })
    await svc.createUser({ email })
    svc.acme.changeUserinfo((claims) => ({ ...claims, email_verified: odd }))
    const visitor = new Visitor(svc)
    t.ok(failure(await visitor.signIn('grace')), `email_verified: ${JSON.stringify(odd)}`)
    t.equal(await visitor.user(), null)
  }
})

t.test('finds an account by its id after the profile at the provider changed', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  const id = (await grace.user())?.id
  const other = await svc.createUser({ email: 'other@example.com' })
  svc.acme.accounts.set('grace', { sub: 'grace', email: 'other@example.com', email_verified: true, name: 'New' })
  const later = new Visitor(svc)
  await later.signIn('grace')
  t.match(await later.user(), { id, email, name: 'Grace Acme' }, 'the name here is unchanged')
  t.same((await keysOf(svc, other.id)).links, [])
  const moved = await buildSocial(t)
  t.not(moved.acme.issuer, svc.acme.issuer)
})

t.test('creates no account without a valid address', async (t) => {
  const svc = await buildSocial(t)
  t.equal(failure(await new Visitor(svc).signIn('nameless')), 'email_missing')
  for (const address of [
    '',
    ' ',
    'no address',
    'a@b@c',
    null,
    7,
    ['x@example.com'],
    `${'a'.repeat(300)}@example.com`,
    'a\0@example.com',
  ]) {
    svc.acme.changeUserinfo((claims) => ({ ...claims, email: address }))
    const told = failure(await new Visitor(svc).signIn('grace'))
    t.ok(['email_missing', 'provider_error'].includes(String(told)), `${JSON.stringify(address)}: ${told}`)
  }
  const program = new Visitor(svc)
  const back = await program.allow(await program.begin(), 'nameless')
  const answer = await program.browser.get(back.pathname + back.search)
  t.equal(answer.statusCode, 422)
  t.match(answer.json(), { code: 'email_missing' })
  t.equal(await svc.database.prisma.user.count(), 0)
})

t.test('signs known users in while registration is closed', async (t) => {
  const svc = await buildSocial(t, {
    acme: { trust_email: true },
    settings: { app: { frontend_url: frontEnd }, registration: { enabled: false } },
  })
  const alan = new Visitor(svc)
  t.equal(failure(await alan.signIn('alan')), 'registration_disabled')
  const back = await alan.allow(await alan.begin(), 'alan')
  const answer = await alan.browser.get(back.pathname + back.search)
  t.equal(answer.statusCode, 403)
  t.match(answer.json(), { code: 'registration_disabled' })
  await svc.createUser({ email })
  for (let times = 0; times < 2; times++) {
    const grace = new Visitor(svc)
    t.equal((await grace.signIn('grace')).headers.location, `${frontEnd}/`)
    t.match(await grace.user(), { email })
  }
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('rejects a disabled user, and creates no second one', async (t) => {
  const svc = await buildSocial(t, { acme: { trust_email: true } })
  const { prisma } = svc.database
  await new Visitor(svc).signIn('grace')
  await prisma.user.updateMany({ data: { disabledAt: new Date(svc.clock.now()) } })
  const linked = new Visitor(svc)
  t.ok(failure(await linked.signIn('grace')))
  t.equal(await linked.user(), null)
  await svc.createUser({ email: 'alan@example.com' })
  await prisma.user.updateMany({ data: { disabledAt: new Date(svc.clock.now()) } })
  const byAddress = new Visitor(svc)
  t.ok(failure(await byAddress.signIn('alan')))
  t.equal(await byAddress.user(), null)
  t.equal(await prisma.user.count(), 2)
})

t.test('rejects a new account with the former address of another one while the change can be undone', async (t) => {
  const svc = await buildSocial(t, { acme: { trust_email: true } })
  await svc.createUser({ email })
  const spa = svc.browser()
  await spa.signIn(email)
  await spa.post('/user/confirm-password', { password: 'correct horse' })
  await spa.put('/user/profile-information', { name: 'Grace', email: 'hopper@example.com' })
  t.equal((await spa.get(await mailedLink(svc, 'hopper@example.com'))).statusCode, 204)
  t.equal(failure(await new Visitor(svc).signIn('grace')), 'account_exists')
  svc.clock.advance(7 * day)
  t.equal(failure(await new Visitor(svc).signIn('grace')), null)
})
