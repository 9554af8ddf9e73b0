import t, { type Test } from 'tap'
import { boundSessionFeature } from '../../../src/features/bound-sessions/feature.ts'
import { SitePermission } from '../../../src/features/bound-sessions/site-permission.ts'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'
import { BoundBrowser, type BoundBrowserOptions } from '../../support/bound-browser.ts'
import { day, hour, minute, second } from '../../support/clock.ts'
import { until } from '../../support/until.ts'

const interval = 10 * minute

const bound = (more: Settings = {}, session: object = {}): Settings => ({
  app: { url: 'https://auth.example.com' },
  session: { bound: 'when_available', ...session },
  ...more,
})

async function start(t: Test, settings: Settings = bound(), options: BoundBrowserOptions = {}) {
  const svc = await buildTestApp(t, { settings })
  const user = await svc.createUser()
  const browser = new BoundBrowser([svc.app], svc.clock, options)
  return { svc, user, browser }
}

const status = async (browser: BoundBrowser, path = '/api/user') => (await browser.get(path)).statusCode

const bindings = ({ database }: TestApp) => database.prisma.sessionBinding.count()

t.test('binds a session after the sign-in, with both algorithms', async (t) => {
  for (const algorithm of ['ES256', 'RS256'] as const) {
    const { svc, user, browser } = await start(t, bound(), { algorithm })
    const answer = await browser.signIn(user.email)
    t.match(
      answer.headers['secure-session-registration'],
      /^\(ES256 RS256\);path="\/session\/binding";challenge="\d+\.[\w-]{43}\.[\w-]{43}"$/,
    )
    t.equal(browser.sessions.size, 1, algorithm)
    t.equal(await status(browser), 200)
    t.match((await browser.get('/user/sessions')).json(), [{ current: true, bound: true }])
    t.equal(await svc.database.prisma.event.count({ where: { type: 'session_bound' } }), 1)
    t.ok(browser.cookies.has('__Host-svc_bound'))
  }
})

t.test('describes the scope of the binding, also for the subdomains of session.domain', async (t) => {
  const whole = (domain: string, rules: object[]) => ({
    refresh_url: '/session/binding/refresh',
    scope: { origin: 'https://example.com', include_site: true, scope_specification: rules },
    credentials: [
      {
        type: 'cookie',
        name: '__Secure-svc_bound',
        attributes: `Domain=${domain}; Path=/; Secure; HttpOnly; SameSite=Lax`,
      },
    ],
  })
  const rule = (type: string, domain: string) => ({ type, domain, path: '/' })
  const cases: [string, string | null, object][] = [
    [
      'https://auth.example.com',
      null,
      {
        scope: { origin: 'https://auth.example.com', include_site: false, scope_specification: [] },
        credentials: [
          { type: 'cookie', name: '__Host-svc_bound', attributes: 'Path=/; Secure; HttpOnly; SameSite=Lax' },
        ],
      },
    ],
    ['https://auth.example.com', '.example.com', whole('.example.com', [])],
    [
      'https://auth.eu.example.com',
      'eu.example.com',
      whole('eu.example.com', [
        rule('include', 'eu.example.com'),
        rule('include', '*.eu.example.com'),
        rule('exclude', '*'),
      ]),
    ],
  ]
  for (const [url, domain, expected] of cases) {
    const { svc, user, browser } = await start(t, { ...bound({}, { domain }), app: { url } }, { url })
    svc.app.boundSessions.isPermitted = () => true
    const answers: unknown[] = []
    const { raw } = browser
    browser.raw = async (...given) => {
      const answer = await raw.apply(browser, given)
      if (given[1] === '/session/binding') answers.push(answer.json())
      return answer
    }
    await browser.signIn(user.email)
    t.match(answers, [expected], `${url} ${domain}`)
    const origins = await browser.get('/.well-known/device-bound-sessions')
    t.strictSame(origins.json(), { registering_origins: [url] })
  }
})

t.test('refuses copied cookies within one interval, 100 of 100', async (t) => {
  const { svc, user, browser: first } = await start(t)
  let [early, late] = [0, 0]
  for (let i = 0; i < 100; i++) {
    const browser = i % 2 === 0 ? first : new BoundBrowser([svc.app], svc.clock)
    await browser.signIn(user.email, { remember: i % 3 === 0 })
    // The thief copies the cookies at any time, and comes with them at once and after the interval.
    svc.clock.advance((i * 7) % 600 === 0 ? 0 : ((i * 37) % 600) * second)
    await browser.get('/api/user')
    const thief = browser.copyOfCookies({ binds: true })
    early += Number((await status(thief)) === 200)
    svc.clock.advance(interval)
    for (const path of ['/api/user', '/user/sessions', '/account']) {
      // Also a thief who keeps the expired cookie.
      for (const [name, cookie] of thief.cookies) thief.cookies.set(name, { ...cookie, expires: Infinity })
      const answer = await thief.get(path, { accept: path === '/account' ? 'text/html' : 'application/json' })
      if (answer.statusCode !== 200 && !/"id":/.test(answer.body)) late++
    }
    t.equal(await status(browser), 200, 'the browser of the user continues')
  }
  t.equal(early, 100, 'a copy works until the cookie expires')
  t.equal(late, 300)
})

t.test('loses no request in an hour with parallel tabs, restarts, clock jumps and a second replica', async (t) => {
  const { svc, user } = await start(t)
  const replica = await buildTestApp(t, { settings: bound(), database: svc.where, clock: svc.clock })
  for (const remember of [false, true]) {
    const browser = new BoundBrowser([svc.app, replica.app], svc.clock)
    await browser.signIn(user.email, { remember })
    const jumps = [0, 5 * minute, -5 * minute, 40 * minute, -40 * minute, 0]
    const statuses: number[] = []
    for (let elapsed = 0; elapsed < hour; elapsed += 97 * second) {
      svc.clock.advance(97 * second)
      // Clocks of devices jump, and a restarted browser keeps its keys and its cookies.
      browser.ahead = jumps[Math.floor(elapsed / (10 * minute))] ?? 0
      const tabs = await Promise.all(
        ['/api/user', '/user/sessions', '/api/user', '/account'].map((path) => browser.get(path)),
      )
      statuses.push(...tabs.map(({ statusCode }) => statusCode))
    }
    t.ok(statuses.length > 140)
    t.strictSame(new Set(statuses), new Set([200]), `remember: ${remember}`)
    t.ok(browser.own.length >= 6, 'the browser renewed its cookie')
    t.equal(browser.sessions.size, 1)
  }
})

t.test('accepts requests that were under way while the browser registered its key', async (t) => {
  const { svc, user, browser } = await start(t)
  await browser.signIn(user.email)
  const underWay = browser.copyOfCookies()
  underWay.cookies.delete('__Host-svc_bound')
  svc.clock.advance(29 * second)
  t.equal(await status(underWay), 200)
  svc.clock.advance(2 * second)
  t.equal(await status(underWay), 401)
})

t.test('lets a browser drop a late cookie and prove itself, and repeats a request once', async (t) => {
  const { svc, user, browser } = await start(t)
  await browser.signIn(user.email)
  const copy = browser.copyOfCookies()
  // The browser keeps the cookie although it has expired at svc.
  browser.ahead = -hour
  svc.clock.advance(interval + second)
  const { headers, statusCode } = await browser.raw('GET', '/api/user?a=1')
  t.strictSame([statusCode, headers.location], [307, '/api/user?a=1'])
  t.equal(await status(browser), 200)

  const changed = await browser.send('PUT', '/user/profile-information', { name: 'Grace', email: user.email })
  t.equal(changed.statusCode, 200, 'also for a request with a body')

  for (const [name, cookie] of copy.cookies) copy.cookies.set(name, { ...cookie, expires: Infinity })
  t.equal((await copy.raw('GET', '/api/user')).statusCode, 307)
  const again = await copy.raw('GET', '/api/user')
  t.equal(again.statusCode, 401, 'the cookie is gone, so the request is not repeated again')
  t.equal(again.json().code, 'session_unbound')
})

t.test('binds remembered browsers too', async (t) => {
  const { svc, user, browser } = await start(t)
  await browser.signIn(user.email, { remember: true })
  const thief = browser.copyOfCookies()
  svc.clock.advance(3 * day)
  t.equal(await status(thief), 401, 'a copied remember-me cookie does not work')
  t.equal(await status(browser), 200, 'the browser of the user starts a new session')
  t.match((await browser.get('/user/sessions')).json(), [{ bound: true }])
  svc.clock.advance(3 * day)
  t.equal(await status(browser), 200)
  t.equal(await bindings(svc), 1)
})

t.test('keeps the binding when a new password renews the session', async (t) => {
  const { svc, user, browser } = await start(t)
  await browser.signIn(user.email, { remember: true })
  const body = {
    current_password: 'correct horse',
    password: 'battery staple 9',
    password_confirmation: 'battery staple 9',
  }
  t.equal((await browser.send('PUT', '/user/password', body)).statusCode, 200)
  const thief = browser.copyOfCookies()
  svc.clock.advance(interval)
  t.equal(await status(browser), 200)
  t.equal(await status(thief), 401)
  svc.clock.advance(3 * day)
  t.equal(await status(browser), 200, 'also the remembered browser')
})

t.test('ends the binding with the session', async (t) => {
  const { svc, user, browser } = await start(t)
  await browser.signIn(user.email)
  const [session] = [...browser.sessions.values()]
  t.equal((await browser.post('/logout')).statusCode, 200)
  svc.clock.advance(interval)
  if (session) await browser.refresh(session)
  t.equal(browser.sessions.size, 0, 'svc answers 404, and the browser forgets the session')
  t.equal(await bindings(svc), 1)
  await boundSessionFeature.prune(svc.database)
  t.equal(await bindings(svc), 0)

  await browser.signIn(user.email, { remember: true })
  await boundSessionFeature.prune(svc.database)
  t.equal(await bindings(svc), 1, 'a binding in use stays')
})

t.test('keeps ordinary sessions in browsers without support, and binds nothing while it is off', async (t) => {
  const { svc, user } = await start(t)
  const plain = new BoundBrowser([svc.app], svc.clock, { binds: false })
  await plain.signIn(user.email, { remember: true })
  svc.clock.advance(hour)
  t.equal(await status(plain), 200)
  t.match((await plain.get('/user/sessions')).json(), [{ bound: false }])

  const off = await start(t, bound({}, { bound: 'off' }))
  const answer = await off.browser.signIn(off.user.email)
  t.equal(answer.headers['secure-session-registration'], undefined)
  const register = await off.browser.raw('POST', '/session/binding', undefined, {
    'secure-session-response': '"a.b.c"',
  })
  t.equal(register.statusCode, 404)
})

t.test('checks no binding while it is off, and again when it is on', async (t) => {
  const { svc, user, browser } = await start(t)
  await browser.signIn(user.email, { remember: true })
  const copy = browser.copyOfCookies()
  const off = await buildTestApp(t, { settings: bound({}, { bound: 'off' }), database: svc.where, clock: svc.clock })
  svc.clock.advance(interval)
  const elsewhere = new BoundBrowser([off.app], svc.clock, { binds: false })
  for (const [name, cookie] of copy.cookies) elsewhere.cookies.set(name, cookie)
  t.equal(await status(elsewhere), 200)
  t.match((await elsewhere.get('/user/sessions')).json(), [{ bound: false }], 'the list claims no protection')
  t.equal(await status(copy), 401)
  t.equal(await status(browser), 200)
})

t.test('binds sessions of a whole site only while the site permits it', async (t) => {
  const { svc, user, browser } = await start(t, bound({}, { domain: '.example.com' }))
  const answers: (() => Response)[] = [
    () => Response.json({ registering_origins: ['https://other.example.com'] }),
    () => Response.json('x'),
    () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }),
    () => new Response(null, { status: 404 }),
    () => {
      throw new Error('no such host')
    },
    () => Response.json({ registering_origins: ['https://auth.example.com'] }),
  ]
  const asked: string[] = []
  let answer = answers[0]
  const permission = new SitePermission(svc.app, async (url) => {
    asked.push(String(url))
    return answer?.() ?? new Response(null, { status: 500 })
  })
  svc.app.boundSessions.isPermitted = permission.isGiven
  for (answer of answers) {
    const count = asked.length
    await browser.signIn(user.email)
    t.equal(browser.sessions.size, 0)
    await until(() => asked.length > count)
    await new Promise((done) => setImmediate(done))
    svc.clock.advance(10 * minute)
  }
  await browser.signIn(user.email)
  t.equal(browser.sessions.size, 1, 'with the permission')
  t.strictSame(new Set(asked), new Set(['https://example.com/.well-known/device-bound-sessions']))
  t.equal(svc.logs.filter((line) => line.includes('Browsers do not bind sessions')).length, 5)

  const { svc: own } = await start(t, { ...bound({}, { domain: 'example.com' }), app: { url: 'https://example.com' } })
  t.equal(own.app.boundSessions.isPermitted(), true, 'browsers do not ask a site whose host is that of svc')
})
