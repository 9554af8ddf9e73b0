import t, { type Test } from 'tap'
import { deviceSignIn } from '../../support/accounts.ts'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'
import { minute } from '../../support/clock.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'

const right = 'correct horse'
const client = {
  client_id: 'phone',
  type: 'confidential',
  secret: 'a-secret-that-is-long-enough',
  grants: ['password'],
}

/** svc with a limit of three failures per address in ten minutes. */
const build = (t: Test, settings: Settings = {}, limits: object = {}) =>
  buildTestApp(t, { settings: { clients: [client], rate_limits: { login_address: '3/10m', ...limits }, ...settings } })

const send = (svc: TestApp, email: string, password: string, remoteAddress?: string, headers?: object) =>
  deviceSignIn(svc, { email, password }, remoteAddress, headers)

/** The statuses of one password on one account after the other, which triggers no other limit. */
async function spray(svc: TestApp, times: number, remoteAddress?: string, headers?: object) {
  const statuses: number[] = []
  for (let i = 0; i < times; i++) {
    const answer = await send(svc, `${Math.random()}@example.com`, 'Winter2026!', remoteAddress, headers)
    statuses.push(answer.statusCode)
  }
  return statuses
}

const refused = [422, 422, 422, 429]

t.test('stops one address that tries a password on many accounts, and no other address', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser()
  t.strictSame(await spray(svc, 5), [...refused, 429])
  const answer = await send(svc, email, right)
  t.equal(answer.statusCode, 429, 'the right password too')
  t.match(answer.json(), { code: 'too_many_requests', errors: { email: [/try again in 600 seconds/] } })
  t.match(answer.headers, { 'retry-after': '600', 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '0' })
  t.equal((await send(svc, email, right, '192.0.2.2')).statusCode, 200)
  svc.clock.advance(10 * minute)
  t.equal((await send(svc, email, right)).statusCode, 200, 'until the window ends')
})

t.test('counts an IPv6 client by its /64', async (t) => {
  const svc = await build(t)
  for (let i = 1; i <= 3; i++) t.strictSame(await spray(svc, 1, `2001:db8:0:1::${i}`), [422])
  t.strictSame(await spray(svc, 1, '2001:db8:0:1:ffff::1'), [429])
  t.strictSame(await spray(svc, 1, '2001:db8:0:2::1'), [422])
})

t.test('counts all entry points together', async (t) => {
  const svc = await build(t)
  const browser = new Browser(svc.app, { remoteAddress: '192.0.2.1' })
  await browser.get('/svc/csrf-cookie')
  const login = () => browser.post('/login', { email: 'a@example.com', password: 'wrong' })
  const grant = () =>
    svc.app.inject({
      method: 'POST',
      url: '/oauth/token',
      remoteAddress: '192.0.2.1',
      payload: {
        grant_type: 'password',
        client_id: client.client_id,
        client_secret: client.secret,
        username: 'b@example.com',
        password: 'wrong',
      },
    })
  t.equal((await login()).statusCode, 401)
  t.equal((await grant()).statusCode, 400)
  t.strictSame(await spray(svc, 2), [422, 429])
  t.equal((await login()).statusCode, 429)
  t.equal((await grant()).statusCode, 429)
})

t.test('does not count successes, or failures of a rejected address against accounts', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser()
  for (let i = 0; i < 5; i++) t.equal((await send(svc, email, right)).statusCode, 200)
  t.strictSame(await spray(svc, 4), refused)
  const count = () => svc.database.prisma.loginLimit.count()
  const before = await count()
  t.strictSame(await spray(svc, 3), [429, 429, 429])
  t.equal(await count(), before)
})

t.test('takes the attempt back when another limit rejects it', async (t) => {
  const svc = await build(t, {}, { login: '1/10m' })
  const { email } = await svc.createUser()
  t.equal((await send(svc, email, 'wrong')).statusCode, 422)
  for (let i = 0; i < 5; i++) t.equal((await send(svc, email, 'wrong')).statusCode, 429)
  t.strictSame(await spray(svc, 3), [422, 422, 429])
})

t.test('does not apply to a browser that signed in to the account before', async (t) => {
  const svc = await build(t)
  const [owner, neighbour] = [await svc.createUser(), await svc.createUser()]
  const known = new Browser(svc.app, { remoteAddress: '192.0.2.1' })
  t.equal((await known.signIn(owner.email)).statusCode, 200)
  t.strictSame(await spray(svc, 4), refused)
  t.equal((await known.signIn(owner.email)).statusCode, 200)
  t.equal((await known.signIn(neighbour.email)).statusCode, 429, 'but applies to that browser for another account')
  t.equal((await known.post('/user/confirm-password', { password: right })).statusCode, 201, 'a signed-in user')
})

t.test('checks no more than the allowed number of many concurrent attempts', async (t) => {
  const svc = await build(t)
  const answers = await Promise.all(Array.from({ length: 20 }, () => spray(svc, 1)))
  t.equal(answers.flat().filter((status) => status === 422).length, 3)
  t.equal(answers.flat().filter((status) => status === 429).length, 17)
})

t.test('can be disabled with null, and does not count exempt addresses', async (t) => {
  const off = await build(t, {}, { login_address: null })
  t.strictSame(await spray(off, 5), Array(5).fill(422))
  const exempt = await build(t, {}, { exempt: ['192.0.2.0/24', '2001:db8::/32'] })
  t.strictSame(await spray(exempt, 5, '192.0.2.1'), Array(5).fill(422))
  t.strictSame(await spray(exempt, 5, '::ffff:192.0.2.1'), Array(5).fill(422))
  t.strictSame(await spray(exempt, 5, '2001:db8::1'), Array(5).fill(422))
  t.strictSame(await spray(exempt, 4, '198.51.100.1'), refused)
})

t.test('counts the client that a trusted proxy names', async (t) => {
  const svc = await build(t, { server: { trust_proxy: ['10.0.0.0/8'] } })
  t.strictSame(await spray(svc, 4, '10.0.0.1', { 'x-forwarded-for': '198.51.100.1' }), refused)
  t.strictSame(await spray(svc, 1, '10.0.0.1', { 'x-forwarded-for': '198.51.100.1:4711' }), [429])
  t.strictSame(await spray(svc, 1, '10.0.0.1', { 'x-forwarded-for': '198.51.100.2' }), [422])
  t.strictSame(await spray(svc, 4, '10.0.0.9', { 'x-forwarded-for': 'unknown' }), refused, 'otherwise the proxy itself')
})

t.test('counts a public address by itself, whatever headers it sends', async (t) => {
  const svc = await build(t)
  const headers = [
    { 'x-forwarded-for': '198.51.100.1' },
    { 'x-forwarded-for': '10.0.0.1' },
    { forwarded: 'for=198.51.100.1' },
    { 'x-real-ip': '127.0.0.1', via: '1.1 proxy', 'cf-connecting-ip': '198.51.100.1' },
  ]
  const statuses: number[] = []
  for (const each of headers) statuses.push(...(await spray(svc, 1, '192.0.2.1', each)))
  t.strictSame(statuses, refused)
  t.notOk(
    svc.logs.some((line) => line.includes('server.trust_proxy')),
    'no warning that anyone could cause',
  )
})

t.test('allows a private address ten times as many, and warns if it forwards headers', async (t) => {
  const svc = await build(t, { server: { trust_proxy: ['10.0.0.0/8'] } }, { login_address: '2/10m', login: null })
  const last = async (times: number, address: string, headers = {}) =>
    (await spray(svc, times, address, headers)).slice(-2)
  for (const address of ['172.16.0.1', '127.0.0.2', '192.168.7.7', '100.64.0.9', 'fd00::1', '::ffff:192.168.9.9']) {
    t.strictSame(await last(21, address), [422, 429], address)
  }
  t.notOk(svc.logs.some((line) => line.includes('server.trust_proxy')))
  t.strictSame(await last(11, '172.16.0.2', { 'x-forwarded-for': '198.51.100.1' }), [422, 422])
  t.strictSame(await last(10, '172.16.0.2', { forwarded: 'for=198.51.100.1' }), [422, 429])
  const warnings = svc.logs.filter((line) => line.includes('server.trust_proxy'))
  t.equal(warnings.length, 1)
  t.match(JSON.parse(warnings[0] ?? ''), { peer: '172.16.0.2', msg: /share the limits of one address/ })
  const inside = { 'x-forwarded-for': '192.168.1.1' }
  t.strictSame(await last(3, '10.0.0.1', inside), [422, 429], 'not a client whose private address a proxy reported')
})

t.test('counts together in Redis across replicas', async (t) => {
  if (!hasRedis(t)) return
  const redis = await startRedis(t)
  const settings = { redis: { url: redis.url }, rate_limits: { login_address: '3/10m' } }
  const svc = await buildTestApp(t, { settings })
  const other = await buildTestApp(t, { settings, database: svc.where, clock: svc.clock })
  t.strictSame(await spray(svc, 2), [422, 422])
  t.strictSame(await spray(other, 2), [422, 429])
  t.equal(await svc.database.prisma.loginLimit.count(), 0)
  await redis.stop()
  t.strictSame(await spray(svc, 4), refused, 'the database counts while Redis is away')
})
