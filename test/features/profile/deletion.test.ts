import t from 'tap'
import { mailedLink, registration, strongPassword, visitor } from '../../support/accounts.ts'
import { buildTestApp, confirming, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { second } from '../../support/clock.ts'
import { holdTransactions } from '../../support/hold.ts'
import { until } from '../../support/until.ts'

const password = 'correct horse'

/** A user with a row in every table, who has confirmed the password. */
async function settled(svc: TestApp, email: string) {
  const user = await svc.createUser({ email })
  const [spa, other] = [svc.browser(), svc.browser()]
  await spa.signIn(email, password, { remember: true })
  await other.signIn(email, password, { remember: true })
  const token = await svc.createToken(user)
  await spa.post('/user/confirm-password', { password })
  await spa.post('/user/two-factor-authentication')
  await svc.bearer(token, 'POST', '/api/task', { title: 'Of hers' })
  await svc.bearer(token, 'PUT', `/server/${user.id}`, { name: 'Of hers' })
  await svc.browser().post('/forgot-password', { email }, { 'sec-fetch-site': 'same-origin' })
  await svc.mailbox.all()
  await svc.database.prisma.passkey.create({
    data: {
      userId: BigInt(user.id),
      name: 'Key',
      credentialId: `credential-${user.id}`,
      publicKey: 'x',
      createdAt: new Date(),
      updatedAt: new Date(),
    },
  })
  return { user, spa, other, token }
}

async function counts({ database: { prisma } }: TestApp): Promise<Record<string, number>> {
  return {
    users: await prisma.user.count(),
    sessions: await prisma.session.count({ where: { userId: { not: null } } }),
    remembered: await prisma.rememberToken.count(),
    tokens: await prisma.personalAccessToken.count(),
    passkeys: await prisma.passkey.count(),
    resets: await prisma.passwordReset.count(),
    tasks: await prisma.sampleTask.count(),
    servers: await prisma.sampleServer.count(),
  }
}

t.test("requires the password for a deletion, and deletes only that user's data", async (t) => {
  const svc = await buildTestApp(t, { settings: { ...confirming, rate_limits: { mail: null } } })
  const bob = await settled(svc, 'bob@example.com')
  const before = await counts(svc)
  const ada = await settled(svc, 'ada@example.com')
  const fresh = svc.browser()
  await fresh.signIn('ada@example.com')
  const refused = await fresh.delete('/user')
  t.equal(refused.statusCode, 423)
  t.equal(refused.json().code, 'password_confirmation_required')
  t.equal((await svc.bearer(ada.token, 'DELETE', '/user')).statusCode, 401, 'a token does not delete its user')
  const cookies = await ada.spa.jar.getCookieString('http://localhost:8000/')
  const headers = { cookie: cookies, origin: 'http://localhost:5173' }
  t.equal((await svc.app.inject({ method: 'DELETE', url: '/user', headers })).statusCode, 419, 'nor does another site')

  const answer = await ada.spa.delete('/user')
  t.equal(answer.statusCode, 200, answer.body)
  t.strictSame(answer.json(), { message: 'Your account has been deleted.' })
  t.equal(await ada.spa.cookie('svc_remember'), undefined)
  t.strictSame(await counts(svc), before)
  for (const spa of [ada.spa, ada.other, fresh]) t.equal((await spa.get('/api/user')).statusCode, 401)
  t.equal((await svc.app.inject({ url: '/api/user', headers })).statusCode, 401, 'old cookies')
  t.equal((await svc.bearer(ada.token, 'GET', '/api/user')).statusCode, 401)
  t.equal((await svc.browser().signIn('ada@example.com')).statusCode, 401)
  t.equal((await svc.mailbox.to('ada@example.com')).at(-1)?.subject, 'Your account was deleted')
  t.equal(await svc.database.prisma.event.count({ where: { type: 'user_deleted', userId: ada.user.id } }), 1)
  t.equal((await bob.other.get('/api/user')).json().id, bob.user.id)
  t.equal((await svc.bearer(bob.token, 'GET', '/api/user')).statusCode, 200)
})

t.test('frees the address, and invalidates mails to the deleted account', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const first = await visitor(svc)
  await first.post('/register', registration('grace@example.com'))
  const link = await mailedLink(svc, 'grace@example.com')
  await first.post('/user/confirm-password', { password: strongPassword })
  t.equal((await first.delete('/user')).statusCode, 200)
  svc.clock.advance(second)
  const next = await visitor(svc)
  t.equal((await next.post('/register', registration('grace@example.com'))).statusCode, 201)
  const answer = await next.get(link)
  t.equal(answer.statusCode, 403)
  t.equal(answer.json().message, 'This action is unauthorized.')
  t.equal((await next.get('/api/user')).json().email_verified_at, null)
})

t.test('accepts one of many concurrent deletions', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const { spa, user } = await settled(svc, 'ada@example.com')
  const answers = await Promise.all(Array.from({ length: 4 }, () => spa.delete('/user')))
  for (const { statusCode } of answers) t.ok([200, 401].includes(statusCode), String(statusCode))
  t.equal(await svc.database.prisma.event.count({ where: { type: 'user_deleted', userId: user.id } }), 1)
  const notices = (await svc.mailbox.to('ada@example.com')).filter(({ subject }) => /deleted/.test(subject))
  t.equal(notices.length, 1)
})

/** Requests in flight while the user is deleted. */
const underWay: Record<
  string,
  (svc: TestApp, spa: Browser, email: string, token: string) => Promise<{ statusCode: number }>
> = {
  name: (_svc, spa, email) => spa.put('/user/profile-information', { name: 'A', email }),
  address: (_svc, spa, email) => spa.put('/user/profile-information', { name: 'A', email: `new-${email}` }),
  password: (_svc, spa) =>
    spa.put('/user/password', {
      current_password: password,
      password: strongPassword,
      password_confirmation: strongPassword,
    }),
  confirm: (_svc, spa) => spa.post('/user/confirm-password', { password }),
  resend: (_svc, spa) => spa.post('/email/verification-notification'),
  factor: (_svc, spa) => spa.post('/user/two-factor-authentication', { force: true }),
  others: (_svc, spa) => spa.delete('/user/other-sessions', { password }),
  login: async (svc, _spa, email) => svc.browser().signIn(email, password, { remember: true }),
  token: (_svc, spa) => spa.post('/api/tokens/create', { token_name: 'x' }),
  passed: (svc, _spa, _email, token) => svc.bearer(token, 'POST', '/api/tokens/create', { token_name: 'x' }),
  device: (svc, _spa, email) => svc.bearer(null, 'POST', '/svc/token', { email, password, device_name: 'x' }),
  forgot: (svc, _spa, email) => svc.browser().post('/forgot-password', { email }, { 'sec-fetch-site': 'same-origin' }),
  logout: (_svc, spa) => spa.post('/logout'),
  whoami: (svc, _spa, _email, token) => svc.bearer(token, 'GET', '/api/user'),
}

t.test('rejects requests in flight of a deleted user without a 5xx, and leaves no rows', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null, login: null } } })
  let round = 0
  for (const [name, begin] of Object.entries(underWay)) {
    for (const order of ['the deletion goes first', 'both at once']) {
      const email = `user-${round++}@example.com`
      const user = await svc.createUser({ email, verified: false })
      const [spa, other] = [svc.browser(), svc.browser()]
      for (const browser of [spa, other]) {
        await browser.signIn(email)
        await browser.post('/user/confirm-password', { password })
      }
      const token = await svc.createToken(user)
      let isAnswered = false
      const held = order === 'both at once' ? null : holdTransactions(svc)
      const running = begin(svc, spa, email, token).finally(() => {
        isAnswered = true
      })
      // Some requests need no transaction: they are answered immediately.
      if (held) await until(() => held.count() > 0 || isAnswered)
      held?.passOthers()
      const deleting = other.delete('/user')
      if (held) await deleting
      held?.release()
      const [answer, deleted] = await Promise.all([running, deleting])
      t.ok([200, 201, 202, 401, 422].includes(answer.statusCode), `${name}, ${order}: ${answer.statusCode}`)
      // A password change ends the other sessions; the deletion may come after it.
      const isEnded = order === 'both at once' && ['password', 'others'].includes(name) && deleted.statusCode === 401
      t.equal(deleted.statusCode, isEnded ? 401 : 200, `${name}, ${order}`)
      const owner = { userId: BigInt(user.id) }
      const { prisma } = svc.database
      if (isEnded) t.equal(await prisma.user.count({ where: { id: owner.userId } }), 1)
      else {
        t.equal(await prisma.session.count({ where: owner }), 0, name)
        t.equal(await prisma.rememberToken.count({ where: owner }), 0, name)
        t.equal(await prisma.personalAccessToken.count({ where: { tokenableId: owner.userId } }), 0, name)
        t.equal(await prisma.passwordReset.count({ where: owner }), 0, name)
      }
    }
  }
  const failures = svc.logs.filter((line) => /"level":"(error|fatal)"/.test(line))
  t.strictSame(failures.slice(0, 2), [])
})
