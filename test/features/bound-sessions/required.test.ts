import t, { type Test } from 'tap'
import { buildTestApp, testConfig } from '../../support/app.ts'
import { BoundBrowser } from '../../support/bound-browser.ts'
import { hour, minute, second } from '../../support/clock.ts'

const settings = {
  app: { url: 'https://auth.example.com' },
  server: { trust_proxy: ['203.0.113.77'] },
  session: { bound: 'when_available', bound_required_for: ['admin', 'staff'] },
  guard: {
    rules: [{ paths: ['/bound'], bound: true }, { paths: ['/open'] }],
  },
}

const page = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

async function start(t: Test, binds: boolean, role = 'staff') {
  const svc = await buildTestApp(t, { settings })
  const user = await svc.createUser({ role })
  return { svc, user, browser: new BoundBrowser([svc.app], svc.clock, { binds }) }
}

t.test('refuses sessions that are not bound for the roles that must bind them', async (t) => {
  const { svc, user, browser } = await start(t, false)
  t.equal((await browser.signIn(user.email, { remember: true })).statusCode, 200)
  for (const path of ['/api/user', '/user/sessions', '/account', '/admin'])
    t.not((await browser.get(path)).statusCode, 200, path)
  t.equal((await browser.get('/api/user')).json().code, 'session_unbound')
  svc.clock.advance(3 * hour)
  t.equal((await browser.get('/api/user')).statusCode, 401, 'also the remembered browser')
  const guarded = {
    'x-forwarded-uri': '/open',
    'x-forwarded-host': 'auth.example.com',
    'x-forwarded-method': 'GET',
    'x-forwarded-proto': 'https',
  }
  t.equal((await browser.raw('GET', '/svc/guard', undefined, guarded)).statusCode, 401)

  const { svc: other, user: admin, browser: modern } = await start(t, true)
  await modern.signIn(admin.email, { remember: true })
  t.equal((await modern.get('/api/user')).statusCode, 200, 'a browser with support is not refused')
  other.clock.advance(3 * hour)
  t.equal((await modern.get('/api/user')).statusCode, 200, 'nor when it is remembered')

  const { user: ordinary, browser: plain } = await start(t, false, 'user')
  await plain.signIn(ordinary.email)
  t.equal((await plain.get('/api/user')).statusCode, 200, 'other roles keep ordinary sessions')
})

t.test(
  'waits on the sign-in page while the browser registers its key, and then says which browser is needed',
  async (t) => {
    const { svc, user, browser } = await start(t, false)
    await browser.signIn(user.email)
    const waiting = await browser.get('/oauth/login?return_to=%2Faccount', page)
    t.equal(waiting.headers.refresh, '1; url=/oauth/login?return_to=%2Faccount')
    t.match(waiting.body, 'Securing your sign-in')
    svc.clock.advance(21 * second)
    const refused = await browser.get('/oauth/login?return_to=%2Faccount', page)
    t.equal(refused.headers.refresh, undefined)
    t.match(refused.body, 'Your account requires a browser that can bind your sign-in to the device')
    t.match(refused.body, 'name="password"')

    const { user: other, browser: modern } = await start(t, true)
    await modern.signIn(other.email)
    const signedIn = await modern.get('/oauth/login?return_to=%2Faccount', page)
    t.strictSame([signedIn.statusCode, signedIn.headers.location], [303, '/account'])
  },
)

t.test('a guard rule can require a bound credential', async (t) => {
  const { svc, user } = await start(t, true, 'user')
  const ask = async (browser: BoundBrowser, path: string) => {
    const headers = {
      'x-forwarded-uri': path,
      'x-forwarded-host': 'auth.example.com',
      'x-forwarded-method': 'GET',
      'x-forwarded-proto': 'https',
    }
    return (await browser.send('GET', '/svc/guard', undefined, headers)).statusCode
  }
  const modern = new BoundBrowser([svc.app], svc.clock)
  const plain = new BoundBrowser([svc.app], svc.clock, { binds: false })
  await modern.signIn(user.email)
  await plain.signIn(user.email)
  t.strictSame([await ask(modern, '/bound'), await ask(modern, '/open')], [200, 200])
  t.strictSame([await ask(plain, '/bound'), await ask(plain, '/open')], [403, 200])
  const thief = modern.copyOfCookies()
  svc.clock.advance(10 * minute)
  t.strictSame([await ask(thief, '/bound'), await ask(thief, '/open')], [401, 401])
  t.equal(await ask(modern, '/bound'), 200)

  const session = { ...settings.session, bound: 'off', bound_required_for: [] }
  const off = await buildTestApp(t, { settings: { ...settings, session }, database: svc.where, clock: svc.clock })
  const there = new BoundBrowser([off.app], svc.clock, { binds: false })
  for (const [name, cookie] of modern.cookies) there.cookies.set(name, cookie)
  t.strictSame(
    [await ask(there, '/bound'), await ask(there, '/open')],
    [403, 200],
    'svc checks no binding while it is off',
  )
})

t.test('rejects configurations in which no browser could bind a session', (t) => {
  const cases: [object, RegExp][] = [
    [
      { app: { url: 'http://auth.example.com' }, session: { bound: 'when_available' } },
      /session\.bound: must be off unless app\.url is https/,
    ],
    [
      { session: { bound_required_for: ['admin'] } },
      /session\.bound_required_for: must be empty while session\.bound is off/,
    ],
    [{ session: { bound: 'on' } }, /session\.bound: must be one of off, when_available/],
    [{ session: { bound: 'when_available', bound_interval: '2d' } }, /session\.bound_interval: must be .*at most 24h/],
  ]
  for (const [given, expected] of cases) t.throws(() => testConfig(given as Record<string, unknown>), expected)
  t.doesNotThrow(() => testConfig({ session: { bound: 'when_available' } }), 'localhost')
  t.end()
})
