// engine: postgresql
import pg from 'pg'
import t, { type Test } from 'tap'
import { passwordsFrom, passwordsOf } from '../../../src/auth/sign-in/limit-names.ts'
import { sha256Hex } from '../../../src/platform/crypto/hash.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { untilWaiting } from '../../support/hold.ts'
import { passwordClient, token } from '../../support/oauth.ts'
import { recordRoundTrips } from '../../support/round-trips.ts'
import { enableTwoFactor } from '../../support/totp.ts'

const password = 'correct horse'
const ownPage = { 'sec-fetch-site': 'same-origin' }
const scopes = { 'orders:read': 'See your orders' }
const settings = { scopes, clients: [passwordClient], rate_limits: { login: '3/10m' } }

/** A sign-in: its request, and the text of the statement that begins its session or issues its token. */
const signIns = {
  session: {
    statement: /begun AS/,
    send: async (svc: TestApp, email: string) => {
      const spa = svc.browser()
      await spa.becomeKnown(email)
      return spa.post('/login', { email, password }, ownPage)
    },
    left: (svc: TestApp) => svc.database.prisma.session.count(),
  },
  'remembered session': {
    statement: /remembered AS/,
    send: async (svc: TestApp, email: string) => {
      const spa = svc.browser()
      await spa.becomeKnown(email)
      return spa.post('/login', { email, password, remember: true }, ownPage)
    },
    left: (svc: TestApp) => svc.database.prisma.rememberToken.count(),
  },
  'API token': {
    statement: /issued AS/,
    send: (svc: TestApp, email: string) =>
      svc.bearer(null, 'POST', '/svc/token', { email, password, device_name: 'phone' }),
    left: (svc: TestApp) => svc.database.prisma.personalAccessToken.count(),
  },
  'password grant': {
    statement: /noted AS/,
    send: (svc: TestApp, email: string) =>
      token(svc, passwordClient.client_id, { grant_type: 'password', username: email, password, scope: 'orders:read' }),
    left: (svc: TestApp) => svc.database.prisma.oauthRecord.count(),
  },
}

/** Runs the work before the next statement that matches leaves the process. */
function beforeStatement(t: Test, statement: RegExp, work: () => Promise<unknown>): void {
  const { prototype } = pg.Client
  const { query } = prototype
  let isDone = false
  const waiting = function (this: pg.Client, ...args: [string | { text: string }, ...unknown[]]) {
    const [first] = args
    const text = typeof first === 'string' ? first : first.text
    if (isDone || !statement.test(text)) return Reflect.apply(query, this, args)
    isDone = true
    return work().then(() => Reflect.apply(query, this, args))
  }
  // Sound: it passes on the same arguments and result. The pool and Prisma use promises.
  prototype.query = waiting as typeof query
  t.teardown(() => {
    prototype.query = query
  })
}

/** Returns the number of failures that svc has counted for the account and for the address of the client. */
const failuresOf = async ({ database }: TestApp, email: string) => {
  const address = '203.0.113.77'
  const names = [passwordsOf(email), passwordsFrom(email, address), `login-address:${address}`]
  const rows = await database.prisma.loginLimit.findMany({ where: { key: { in: names.map(sha256Hex) } } })
  return rows.reduce((sum, { failures }) => sum + failures, 0)
}

t.test('takes three round trips from a known browser, remembered or not', async (t) => {
  const trips = recordRoundTrips(t)
  const svc = await buildTestApp(t, { settings })
  for (const name of ['session', 'remembered session'] as const) {
    const { email } = await svc.createUser()
    const spa = svc.browser()
    await spa.becomeKnown(email)
    const sent = await trips.during(async () => {
      const body = { email, password, ...(name === 'session' ? {} : { remember: true }) }
      t.equal((await spa.post('/login', body, ownPage)).statusCode, 200, name)
    })
    t.equal(sent.length, 3, `${name}: ${sent.map(({ text }) => text).join('\n')}`)
    t.equal((await spa.get('/api/user')).json().email, email)
  }
})

for (const [name, { statement, send, left }] of Object.entries(signIns)) {
  t.test(`${name}: clears the failures of the account and writes one event`, async (t) => {
    const svc = await buildTestApp(t, { settings })
    const { email, id } = await svc.createUser()
    for (let attempt = 0; attempt < 2; attempt++) {
      const wrong = await svc.bearer(null, 'POST', '/svc/token', { email, password: 'wrong', device_name: 'x' })
      t.equal(wrong.statusCode, 422)
    }
    t.equal((await send(svc, email)).statusCode, 200)
    // Two failures count against the account in the long run, and none against this address.
    for (let attempt = 0; attempt < 3; attempt++) {
      const wrong = await svc.bearer(null, 'POST', '/svc/token', { email, password: 'wrong', device_name: 'x' })
      t.equal(wrong.statusCode, 422, `attempt ${attempt + 1} after the success`)
    }
    const where = { userId: BigInt(id), type: { in: ['login', 'token_created'] } }
    const events = await svc.database.prisma.event.findMany({ where })
    t.equal(events.length, 1)
    t.match(events[0], { ipAddress: '203.0.113.77', actor: `user:${id}` })
    t.ok(Math.abs((events[0]?.createdAt.getTime() ?? 0) - svc.clock.now()) < 60_000, 'in UTC')
  })

  t.test(`${name}: refuses an account that changes before the statement, and leaves nothing behind`, async (t) => {
    for (const [change, data] of Object.entries({
      'another password': { password: 'another hash' },
      'no password': { password: null },
      disabled: { disabledAt: new Date() },
      'a second factor': { twoFactorConfirmedAt: new Date() },
      deleted: null,
    })) {
      const svc = await buildTestApp(t, { settings })
      const { email, id } = await svc.createUser()
      const where = { id: BigInt(id) }
      const { user } = svc.database.prisma
      beforeStatement(t, statement, () => (data ? user.update({ where, data }) : user.delete({ where })))
      const answer = await send(svc, email)
      t.ok([400, 401].includes(answer.statusCode), `${change}: ${answer.statusCode} ${answer.body}`)
      t.equal(await left(svc), 0, change)
      const signedIn = { type: { in: ['login', 'token_created'] } }
      t.equal(await svc.database.prisma.event.count({ where: signedIn }), 0, change)
      t.equal(await failuresOf(svc, email), 0, `${change}: the password was right, so the attempt is no failure`)
    }
  })
}

t.test('waits for a password change that is under way', async (t) => {
  for (const [name, { send, left }] of Object.entries(signIns)) {
    const svc = await buildTestApp(t, { settings })
    const { email, id } = await svc.createUser()
    let answer: ReturnType<typeof send> | undefined
    await svc.database.transaction(async (tx) => {
      const where = { id: BigInt(id) }
      await tx.user.update({ where, data: { password: 'another hash' } })
      answer = send(svc, email)
      await untilWaiting(svc, answer)
    })
    t.ok([400, 401].includes((await answer)?.statusCode ?? 0), name)
    t.equal(await left(svc), 0, name)
  }
})

t.test('keeps the limit of remembered browsers', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { email, id } = await svc.createUser()
  const date = new Date(svc.clock.now())
  const old = { userId: BigInt(id), tokenHash: 'x', createdAt: date, expiresAt: new Date(date.getTime() + 86_400_000) }
  const lastUsedAt = (n: number) => new Date(date.getTime() - n * 1000)
  const data = Array.from({ length: 100 }, (_, n) => ({
    ...old,
    tokenHash: `device ${n}`,
    lastUsedAt: lastUsedAt(n + 1),
  }))
  const { rememberToken } = svc.database.prisma
  await rememberToken.createMany({ data })
  t.equal((await signIns['remembered session'].send(svc, email)).statusCode, 200)
  t.equal(await rememberToken.count(), 100)
  t.equal(await rememberToken.count({ where: { tokenHash: 'device 99' } }), 0, 'forgets the least recently used one')
})

t.test('makes sign-ins with one account at once succeed, each with its session', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { email, id } = await svc.createUser()
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => Object.values(signIns)[n % 3]?.send(svc, email)),
  )
  for (const answer of answers) t.equal(answer?.statusCode, 200, answer?.body ?? '')
  const { session, rememberToken, personalAccessToken } = svc.database.prisma
  t.equal(await session.count({ where: { userId: BigInt(id) } }), 8)
  t.equal(await rememberToken.count(), 4)
  t.equal(await personalAccessToken.count(), 4)
  t.equal(await failuresOf(svc, email), 0)
})

t.test('clears the failures also where the sign-in does not begin a session at once', async (t) => {
  const webhooks = [{ url: 'https://hooks.example.org/', secret: 's'.repeat(32), events: ['login'] }]
  const svc = await buildTestApp(t, { settings: { ...settings, webhooks } })
  const { email } = await svc.createUser()
  for (const [name, { send }] of Object.entries(signIns)) {
    t.equal((await send(svc, email)).statusCode, 200, name)
    t.equal(await failuresOf(svc, email), 0, name)
  }
  const messages = await svc.database.prisma.outbox.count({ where: { kind: { startsWith: 'webhook:' } } })
  t.equal(messages, 3, 'a receiver gets each sign-in')

  const enrolled = await enableTwoFactor(svc)
  const challenged = await svc.browser().post('/login', { email: enrolled.email, password }, ownPage)
  t.equal(challenged.json().two_factor, true)
  const body = { email: enrolled.email, password, device_name: 'phone' }
  t.equal((await svc.bearer(null, 'POST', '/svc/token', body)).statusCode, 422)
  t.equal(await failuresOf(svc, enrolled.email), 0)

  // A browser that is signed in gets a new session in place of the old one.
  const spa = svc.browser()
  await spa.signIn(email)
  const before = await svc.database.prisma.session.count()
  const wrong = await spa.post('/login', { email, password: 'wrong' })
  t.equal(wrong.statusCode, 401, wrong.body)
  t.equal((await spa.post('/login', { email, password })).statusCode, 200)
  t.equal(await svc.database.prisma.session.count(), before)
})
