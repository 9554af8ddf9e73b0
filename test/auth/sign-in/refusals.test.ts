import t from 'tap'
import { PasswordHashing } from '../../../src/auth/sign-in/hashing.ts'
import { createUser } from '../../../src/identity/users.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { minute, second } from '../../support/clock.ts'
import { until } from '../../support/until.ts'

const guess = (svc: TestApp, email: string, password = 'wrong') =>
  svc.bearer(null, 'POST', '/svc/token', { email, password, device_name: 'Phone' })

/** The recorded failures and lock-outs, once there are this many: svc records them after the answer. */
const settled = async ({ database }: TestApp, count: number) => {
  const recorded = () => database.prisma.event.findMany({ where: { type: { in: ['login_failed', 'lockout'] } } })
  await until(async () => (await recorded()).reduce((sum, { repeats }) => sum + 1 + repeats, 0) >= count)
  return recorded()
}

t.test('rejects requests on a full queue before it counts or looks up anything', async (t) => {
  const svc = await buildTestApp(t)
  const hashing = new PasswordHashing({ threads: 1 })
  t.teardown(() => hashing.close())
  svc.app.hashing = hashing
  const waiting: Promise<string>[] = []
  const own = { kind: 'address', key: '203.0.113.77' } as const
  while (!hashing.isFull(own)) waiting.push(hashing.hash('x', own))
  svc.app.loginLimiter.attempt = () => Promise.reject(new Error('counted'))
  const answer = await guess(svc, 'stranger@example.com')
  t.equal(answer.statusCode, 503, answer.body)
  t.equal(answer.headers['retry-after'], '2')
  await Promise.all(waiting)
})

t.test('records failures of unknown addresses like those of known ones', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { login: '2/1m' } } })
  const user = await svc.createUser()
  for (const email of [user.email, 'stranger@example.com']) for (let i = 0; i < 2; i++) await guess(svc, email)
  const events = await settled(svc, 6)
  const of = (userId: bigint | null) =>
    events.filter((event) => event.userId === userId).map(({ type, repeats }) => `${type} ${repeats}`)
  t.strictSame(of(BigInt(user.id)).sort(), ['lockout 0', 'login_failed 1'])
  t.strictSame(of(null).sort(), ['lockout 0', 'login_failed 1'])
  t.notMatch(JSON.stringify(events.map(({ data }) => data)), 'stranger', 'the typed address is not stored')
})

t.test('counts repeated failures in one row an hour, by account, address and entry point', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { login: null, login_address: null } } })
  const [user, other] = [await svc.createUser(), await svc.createUser()]
  const began = svc.clock.now()
  await Promise.all(Array.from({ length: 20 }, () => guess(svc, user.email)))
  svc.clock.advance(minute)
  for (const email of [user.email, other.email, 'stranger@example.com', 'stranger-else@example.com'])
    await guess(svc, email)
  await svc.browser({ remoteAddress: '198.51.100.7' }).signIn(user.email, 'wrong')
  await svc.browser({ remoteAddress: '198.51.100.7' }).signIn(user.email, 'wrong')
  const rows = await settled(svc, 26)
  const counted = rows.map((row) => [Number(row.userId), row.ipAddress, row.data, row.repeats, row.lastAt?.getTime()])
  const byToken = '{"channel":"token"}'
  const byText = (a: unknown, b: unknown) => String(a).localeCompare(String(b))
  t.strictSame(
    counted.sort(byText),
    [
      [user.id, '203.0.113.77', byToken, 20, began + minute],
      [other.id, '203.0.113.77', byToken, 0, undefined],
      [0, '203.0.113.77', byToken, 1, began + minute],
      [user.id, '198.51.100.7', '{"channel":"login"}', 1, began + minute],
    ].sort(byText),
  )
  const lines = svc.logs.map((line) => JSON.parse(line)).filter(({ event }) => event === 'login_failed')
  t.equal(lines.length, 26, 'the log has a line for each failure')
  t.strictSame([...new Set(lines.map(({ ip }) => ip))].sort(), ['198.51.100.7', '203.0.113.77'])
  svc.clock.advance(60 * minute)
  await guess(svc, user.email)
  t.equal((await settled(svc, 27)).length, 5, 'the next hour has its own row')
})

t.test('leaves no counter after a successful sign-in', async (t) => {
  const svc = await buildTestApp(t)
  // Without a verified address no notice is mailed or counted.
  const user = await svc.createUser({ verified: false })
  await guess(svc, user.email)
  t.equal(await svc.database.prisma.loginLimit.count(), 3)
  t.equal((await guess(svc, user.email, 'correct horse')).statusCode, 200)
  t.strictSame(
    (await svc.database.prisma.loginLimit.findMany()).map(({ failures }) => failures),
    [1, 1],
    'the failures of the account and of the address still count',
  )
  const other = await svc.createUser({ verified: false })
  t.equal((await guess(svc, other.email, 'correct horse')).statusCode, 200)
  t.equal(await svc.database.prisma.loginLimit.count(), 2)
})

t.test('allows one attempt with a limit of one, in every window', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { login: '1/1m' } } })
  const { email } = await svc.createUser()
  for (let window = 0; window < 3; window++) {
    t.equal((await guess(svc, email)).statusCode, 422)
    t.equal((await guess(svc, email)).statusCode, 429)
    svc.clock.advance(minute + second)
  }
})

t.test('keeps an active session beyond a lifetime of a minute', async (t) => {
  const svc = await buildTestApp(t, { settings: { session: { lifetime: '1m' } } })
  const { email } = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(email)
  for (let i = 0; i < 6; i++) {
    svc.clock.advance(35 * second)
    t.equal((await spa.get('/api/user')).statusCode, 200)
    await svc.app.touches.flush()
  }
})

t.test('records the use of a token once a minute, however short the session lifetime is', async (t) => {
  const svc = await buildTestApp(t, { settings: { session: { lifetime: '1m' } } })
  const token = await svc.createToken(await svc.createUser())
  const id = BigInt(token.split('|')[0] ?? '')
  const noted = async () => {
    await svc.app.touches.flush()
    return (await svc.database.prisma.personalAccessToken.findUniqueOrThrow({ where: { id } })).lastUsedAt?.getTime()
  }
  await svc.bearer(token, 'GET', '/api/user')
  const first = await noted()
  svc.clock.advance(40 * second)
  // Simulates another replica that read the row before the first use was written.
  svc.app.touches.token(id, null)
  t.equal(await noted(), first)
  svc.clock.advance(20 * second)
  await svc.bearer(token, 'GET', '/api/user')
  t.equal(await noted(), (first ?? 0) + minute)
})

t.test('answers 422 to the second of two concurrent requests for one address', async (t) => {
  const { database, clock } = await buildTestApp(t)
  const facts = { name: 'A', email: 'A@example.com', password: null, role: 'user', verified: true, now: clock.now() }
  const made = await Promise.all([1, 2, 3].map(() => database.transaction((tx) => createUser(tx, facts))))
  t.equal(made.filter(Boolean).length, 1)
  t.match(made.find(Boolean), { email: 'a@example.com', email_verified_at: '2026-11-20T12:00:00.000000Z' })
})

t.test('warns once about ignored forwarded headers, with and without a trusted proxy', async (t) => {
  const warnings = ({ logs }: TestApp) =>
    logs.filter((line) => line.includes('Forwarded headers from this address are ignored')).length
  const send = ({ app }: TestApp) =>
    app.inject({ url: '/health/live', headers: { 'x-forwarded-for': '198.51.100.1' }, remoteAddress: '172.16.0.9' })
  for (const trust_proxy of [[], ['10.0.0.0/8']]) {
    const svc = await buildTestApp(t, { settings: { server: { trust_proxy } } })
    await send(svc)
    await send(svc)
    t.equal(warnings(svc), 1)
  }
  const behind = await buildTestApp(t, { settings: { server: { trust_proxy: ['172.16.0.0/12'] } } })
  await send(behind)
  t.equal(warnings(behind), 0)
})
