// engine: none
import t from 'tap'
import { deriveKeys } from '../../../src/platform/crypto/keys.ts'
import { Signer } from '../../../src/platform/crypto/signer.ts'
import { buildTestApp } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'

const url = 'https://id.example.com'
const settings = { app: { url } }
const shared = { ...settings, session: { domain: '.example.com' } }
const own = { origin: url, url, xsrf: false }

/** The cookies that an answer sets, by name, and whether they delete the cookie. */
const lines = (answer: { headers: { 'set-cookie'?: string | string[] | undefined } }): string[] =>
  [answer.headers['set-cookie'] ?? []].flat().map((line) => {
    const domain = /Domain=([^;]+)/.exec(line)?.[1] ?? 'host'
    return `${line.split('=')[0]} ${domain} ${line.includes('Max-Age=0;') ? 'expired' : 'set'}`
  })

t.test('prefixes cookies on https: __Host- for one host, __Secure- for a domain', async (t) => {
  for (const [given, prefix] of [
    [settings, '__Host-'],
    [shared, '__Secure-'],
  ] as const) {
    const svc = await buildTestApp(t, { settings: given })
    const user = await svc.createUser()
    const spa = svc.browser(own)
    const answer = await spa.post(
      '/login',
      { email: user.email, password: 'correct horse', remember: true },
      { 'sec-fetch-site': 'same-origin' },
    )
    t.equal(answer.statusCode, 200, answer.body)
    const names = lines(answer).map((line) => line.split(' ')[0])
    t.same(
      new Set(names),
      new Set([`${prefix}svc_session`, `${prefix}svc_remember`, `${prefix}svc_browser`, 'XSRF-TOKEN']),
    )
    t.equal((await spa.get('/api/user')).statusCode, 200)
    const device = await spa.get('/oauth/device', { accept: 'text/html' })
    t.ok(lines(device).includes('__Host-svc_oauth_session host set'), 'subdomains do not need that one')
  }
})

t.test('accepts former cookie names, and replaces them', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const plain = await buildTestApp(t, { database: svc.where })
  const user = await svc.createUser()
  const old = plain.browser()
  await old.signIn(user.email, undefined, { remember: true })
  const before = await old.cookie('svc_session')
  const ask = (cookie: string) => svc.app.inject({ url: '/api/user', headers: { origin: url, cookie } })
  const moved = await ask(`svc_session=${before}`)
  t.equal(moved.statusCode, 200)
  t.same(lines(moved), ['svc_session host expired', '__Host-svc_session host set', 'XSRF-TOKEN host set'])
  const remembered = await ask(`svc_remember=${await old.cookie('svc_remember')}`)
  t.equal(remembered.statusCode, 200)
  t.match(lines(remembered), ['svc_remember host expired', '__Host-svc_remember host set'])

  const visitor = new Browser(svc.app, own)
  await visitor.post(
    '/login',
    { email: user.email, password: 'correct horse', remember: true },
    { 'sec-fetch-site': 'same-origin' },
  )
  const [session, remember] = [await visitor.cookie('__Host-svc_session'), await visitor.cookie('__Host-svc_remember')]
  t.equal((await ask(`__Host-svc_session=${session}`)).statusCode, 200)
  for (const planted of [
    `svc_session=${session}`,
    `__Secure-svc_session=${session}`,
    `svc_remember=${remember}`,
    `__Secure-svc_remember=${remember}`,
  ]) {
    t.equal((await ask(planted)).statusCode, 401, `a new value under a weaker name: ${planted.split('=')[0]}`)
  }
  const [id = ''] = (session ?? '').split('.')
  const signer = new Signer(deriveKeys(svc.config.current().app.secret, 'session-cookie'))
  t.equal(
    (await ask(`svc_session=${signer.sign('attacker')}; __Host-svc_session=${session}`)).statusCode,
    200,
    'the protected name takes precedence',
  )
  t.ok(id.length > 40)
})

t.test('treats duplicate cookies as absent, and deletes every variant', async (t) => {
  for (const [given, name, domains] of [
    [{}, 'svc_session', ['host']],
    [shared, '__Secure-svc_session', ['host', '.example.com']],
  ] as const) {
    const svc = await buildTestApp(t, { settings: given })
    const user = await svc.createUser()
    const origin = svc.config.current().app.url
    const spa = svc.browser({ origin, url: origin, xsrf: false })
    const same = { 'sec-fetch-site': 'same-origin' }
    await spa.post('/login', { email: user.email, password: 'correct horse' }, same)
    const value = await spa.cookie(name)
    const doubled = { cookie: `${name}=planted; ${name}=${value}`, origin }
    for (const cookie of [doubled.cookie, `${name}=${value}; ${name}=planted`, `${name}=${value};${name}=${value}`]) {
      const answer = await svc.app.inject({ url: '/api/user', headers: { origin, cookie } })
      t.equal(answer.statusCode, 401, cookie.slice(0, 30))
      t.same(
        lines(answer),
        domains.map((domain) => `${name} ${domain.replace(/^\./, '.')} expired`),
      )
    }
    const guest = await svc.app.inject({ url: '/svc/csrf-cookie', headers: doubled })
    t.equal(
      lines(guest)
        .filter((line) => line.startsWith(name))
        .at(-1)
        ?.split(' ')[2],
      'set',
      'a new pair follows',
    )
    const forged = await svc.app.inject({
      method: 'POST',
      url: '/login',
      headers: { ...doubled, origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' },
      payload: {},
    })
    t.equal(forged.headers['set-cookie'], undefined, 'not for a form of another site')
    t.equal((await spa.get('/api/user', same)).statusCode, 200, 'the session continues')
  }
})
