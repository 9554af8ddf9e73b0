import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { PasswordHashing } from '../../../src/auth/sign-in/hashing.ts'
import { deviceSignIn } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'
import { hour, minute, second } from '../../support/clock.ts'

const right = 'correct horse'

/** Tries a password from a device with its own address. */
const tryToken = (svc: TestApp, email: string, password: string, remoteAddress?: string, headers?: object) =>
  deviceSignIn(svc, { email, password }, remoteAddress, headers)

/** The statuses of consecutive wrong guesses. */
async function guess(svc: TestApp, email: string, times: number, remoteAddress?: string, headers = {}) {
  const statuses: number[] = []
  for (let i = 0; i < times; i++) {
    statuses.push((await tryToken(svc, email, `wrong ${i}`, remoteAddress, headers)).statusCode)
  }
  return statuses
}

const refused = Array<number>(5).fill(422)

t.test('rejects the sixth attempt after five failures, with Retry-After', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const other = await svc.createUser()
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  for (let i = 0; i < 5; i++) t.equal((await spa.post('/login', { email, password: 'wrong' })).statusCode, 401)
  svc.clock.advance(10 * second)
  const answer = await spa.post('/login', { email, password: right })
  const text = 'Too many login attempts. Please try again in 50 seconds.'
  t.equal(answer.statusCode, 429)
  t.strictSame(answer.json(), { message: text, code: 'too_many_requests', errors: { email: [text] } })
  t.match(answer.headers, {
    'retry-after': '50',
    'x-ratelimit-limit': '5',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String((svc.clock.now() + 50 * second) / 1000),
  })
  t.equal(
    (await spa.post('/login', { email: other.email, password: right })).statusCode,
    200,
    'another account is not affected',
  )
  t.equal((await tryToken(svc, email, right)).statusCode, 200, 'nor is another address')
  svc.clock.advance(49 * second)
  t.equal((await svc.browser().signIn(email)).headers['retry-after'], '1')
  svc.clock.advance(second)
  t.equal((await svc.browser().signIn(email)).statusCode, 200, 'the window has passed')
  const events = await svc.database.prisma.event.findMany({ where: { type: { in: ['login_failed', 'lockout'] } } })
  t.equal(events.filter((event) => event.type === 'lockout').length, 1)
  t.equal(
    events.reduce((sum, { repeats }) => sum + 1 + repeats, 0),
    6,
  )
})

t.test('limits an unknown address like a known one', async (t) => {
  const svc = await buildTestApp(t)
  t.strictSame(await guess(svc, 'unknown@example.com', 7), [...refused, 429, 429])
})

t.test('clears the failures after a success', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  t.strictSame(await guess(svc, email, 4), refused.slice(1))
  t.equal((await tryToken(svc, email, right)).statusCode, 200)
  t.strictSame(await guess(svc, email, 5), refused)
  t.equal((await tryToken(svc, email, right)).statusCode, 429)
})

t.test('counts all entry points together', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const here = new Browser(svc.app, { remoteAddress: '192.0.2.7' })
  await here.get('/svc/csrf-cookie')
  for (const url of ['/login', '/test-login', '/login']) {
    t.equal((await here.post(url, { email, password: 'wrong' })).statusCode, 401)
  }
  t.strictSame(await guess(svc, email, 3, '192.0.2.7'), [422, 422, 429])
  for (const url of ['/login', '/test-login'])
    t.equal((await here.post(url, { email, password: right })).statusCode, 429)
})

t.test('limits all spellings of an address together', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createUser({ email: 'test@example.com' })
  const spellings = [
    'test@example.com',
    'TEST@example.com',
    'Test@Example.COM',
    ' test@example.com',
    'test@example.com\ufeff',
  ]
  for (const email of spellings) t.equal((await tryToken(svc, email, 'wrong')).statusCode, 422, email)
  for (const email of [...spellings, 'tEsT@example.com']) {
    t.equal((await tryToken(svc, email, right)).statusCode, 429, email)
  }
  t.equal((await tryToken(svc, 'tést@example.com', 'wrong')).statusCode, 422, 'another account')
})

t.test('counts by the address of the connection, IPv6 by /64', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  for (let i = 1; i <= 5; i++) {
    const forwarded = {
      'x-forwarded-for': `198.51.100.${i}`,
      'x-real-ip': `198.51.100.${i}`,
      forwarded: `for=198.51.100.${i}`,
    }
    t.equal((await tryToken(svc, email, 'wrong', '192.0.2.1', forwarded)).statusCode, 422)
  }
  t.equal((await tryToken(svc, email, right, '192.0.2.1', { 'x-forwarded-for': '203.0.113.9' })).statusCode, 429)
  t.equal((await tryToken(svc, email, right, '::ffff:192.0.2.1')).statusCode, 429, 'the same address, mapped')
  for (let i = 1; i <= 5; i++) t.equal((await tryToken(svc, email, 'wrong', `2001:db8:0:1::${i}`)).statusCode, 422)
  t.equal((await tryToken(svc, email, right, '2001:db8:0:1:ffff::9')).statusCode, 429, 'one /64')
  t.equal((await tryToken(svc, email, right, '2001:db8:0:2::1')).statusCode, 200, 'the next /64')
})

t.test('takes the client from a trusted proxy, and ignores what the client wrote', async (t) => {
  const svc = await buildTestApp(t, { settings: { server: { trust_proxy: ['10.0.0.0/8'] } } })
  const { email } = await svc.createUser()
  const from = (client: string) => ({ 'x-forwarded-for': client })
  t.strictSame(await guess(svc, email, 6, '10.0.0.1', from('198.51.100.1')), [...refused, 429])
  const spoofed = from('203.0.113.9, 198.51.100.1')
  t.equal((await tryToken(svc, email, right, '10.0.0.2', spoofed)).statusCode, 429, 'what the client wrote before')
  t.equal((await tryToken(svc, email, right, '198.51.100.1')).statusCode, 429, 'the same client without the proxy')
  t.strictSame(await guess(svc, email, 6, '192.0.2.1', from('203.0.113.10')), [...refused, 429])
  t.equal((await tryToken(svc, email, right, '10.0.0.1', from('192.0.2.1'))).statusCode, 429)
  t.equal((await tryToken(svc, email, right, '10.0.0.1', from('203.0.113.10'))).statusCode, 200)
})

t.test('checks five of fifty concurrent guesses', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => tryToken(svc, email, `wrong ${i}`)))
  const statuses = answers.map((answer) => answer.statusCode)
  t.equal(statuses.filter((status) => status === 422).length, 5)
  t.equal(statuses.filter((status) => status === 429).length, 45)
})

t.test('counts together on two replicas', async (t) => {
  const svc = await buildTestApp(t)
  const replica = await buildTestApp(t, { database: svc.where, clock: svc.clock })
  const { email } = await svc.createUser()
  t.strictSame(await guess(svc, email, 3), [422, 422, 422])
  t.strictSame(await guess(replica, email, 3), [422, 422, 429])
  t.equal((await tryToken(svc, email, right)).statusCode, 429)
})

t.test('delays guesses from many addresses more and more, without locking out a known browser', async (t) => {
  const svc = await buildTestApp(t)
  const [owner, neighbour] = [await svc.createUser(), await svc.createUser()]
  const { email } = owner
  const known = new Browser(svc.app, { remoteAddress: '203.0.113.50' })
  t.equal((await known.signIn(email)).statusCode, 200)
  const elsewhere = new Browser(svc.app, { remoteAddress: '203.0.113.51' })
  t.equal((await elsewhere.signIn(neighbour.email)).statusCode, 200)
  let machine = 0
  const attack = () => tryToken(svc, email, 'wrong', `198.51.${machine >> 8}.${machine++ & 255}`)
  for (let i = 0; i < 50; i++) t.equal((await attack()).statusCode, 422)
  for (const wait of [30, 60, 120, 240, 480, 960]) {
    const answer = await attack()
    t.equal(answer.statusCode, 429)
    t.equal(answer.headers['retry-after'], String(wait))
    svc.clock.advance(wait * second - 1)
    t.equal((await attack()).statusCode, 429, 'not a moment earlier')
    svc.clock.advance(1)
    t.equal((await attack()).statusCode, 422)
  }
  t.equal((await attack()).headers['retry-after'], '1920')
  t.equal((await known.post('/login', { email, password: right })).statusCode, 200, 'the browser that signed in before')
  const stranger = new Browser(svc.app, { remoteAddress: '203.0.113.52' })
  t.equal((await stranger.signIn(email)).statusCode, 429, 'a browser that never did')
  t.equal(
    (await elsewhere.post('/login', { email, password: right })).statusCode,
    429,
    'a browser that knows another account',
  )
  t.equal((await stranger.signIn(neighbour.email)).statusCode, 200, 'another account')
  svc.clock.advance(2 * hour)
  t.equal((await stranger.signIn(email)).statusCode, 200)
})

t.test('limits a known browser by its own failures', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const known = svc.browser()
  await known.signIn(email)
  for (let i = 0; i < 5; i++) t.equal((await known.post('/login', { email, password: 'wrong' })).statusCode, 401)
  t.equal((await known.post('/login', { email, password: right })).statusCode, 429)
})

t.test('answers 503 while the hashing queue is full, and counts nothing', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const token = await svc.createToken(await svc.createUser())
  const hashing = new PasswordHashing({ threads: 1 })
  svc.app.hashing = hashing
  const waiting: Promise<unknown>[] = []
  let isFlooded = true
  let addresses = 0
  const flood = async () => {
    for (; isFlooded; await nextTurn()) {
      // Each from its own address: one address alone could not fill it.
      while (hashing.queued < 100) waiting.push(hashing.hash('x', { kind: 'address', key: `${addresses++}` }))
    }
  }
  const flooding = flood()
  for (let i = 0; i < 6; i++) {
    const answer = await tryToken(svc, email, 'wrong')
    t.equal(answer.statusCode, 503)
    t.match(answer.headers['retry-after'], /^\d+$/)
    t.match(answer.json(), { code: 'unavailable' })
  }
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200, 'token checks continue')
  isFlooded = false
  await flooding
  await Promise.all(waiting)
  t.equal((await tryToken(svc, email, right)).statusCode, 200)
  t.strictSame(await guess(svc, email, 6), [...refused, 429])
})

t.test('applies the configured limit, which may be off', async (t) => {
  const strict = await buildTestApp(t, { settings: { rate_limits: { login: '1/10m' } } })
  const { email } = await strict.createUser()
  t.strictSame(await guess(strict, email, 2), [422, 429])
  strict.clock.advance(10 * minute)
  t.equal((await tryToken(strict, email, right)).statusCode, 200)
  const off = await buildTestApp(t, { settings: { rate_limits: { login: null } } })
  const user = await off.createUser()
  t.strictSame(await guess(off, user.email, 7), [...refused, 422, 422])
})
