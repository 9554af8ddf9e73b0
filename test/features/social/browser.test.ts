// engine: none
import t from 'tap'
import { minute } from '../../support/clock.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { buildSocial, callbackUri, failure, frontEnd, Visitor } from './visitor.ts'

t.test('signs in from the button, and returns to the intended page', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  await grace.browser.get('/svc/csrf-cookie')
  const anonymous = await grace.browser.cookie('svc_session')
  const at = await grace.begin('acme', { return_to: '/orders?page=2#last' })
  t.equal(at.origin, svc.acme.issuer)
  const query = Object.fromEntries(at.searchParams)
  t.match(query, {
    client_id: 'svc',
    redirect_uri: callbackUri('acme'),
    response_type: 'code',
    state: /^.{32,}$/,
    nonce: /^.{32,}$/,
    code_challenge: /^[\w-]{43}$/,
    code_challenge_method: 'S256',
  })
  t.same(query.scope?.split(' ').sort(), ['email', 'openid', 'profile'])
  const answer = await grace.back(await grace.allow(at, 'grace'))
  t.ok([302, 303].includes(answer.statusCode), answer.body)
  t.equal(answer.headers.location, `${frontEnd}/orders?page=2#last`)
  t.not(await grace.browser.cookie('svc_session'), anonymous, 'a new session id')
  const user = await grace.user()
  t.match(user, { email: 'grace@example.com', name: 'Grace Acme', email_verified_at: String })

  const [call] = svc.acme.callsTo('/token')
  t.match(Object.fromEntries(call?.form ?? []), {
    grant_type: 'authorization_code',
    redirect_uri: callbackUri('acme'),
    code_verifier: /^[\w.~-]{43,128}$/,
  })
  const rows = await svc.database.prisma.socialAccount.findMany()
  const facts = { provider: 'acme', issuer: svc.acme.issuer, providerId: 'grace', tokens: null }
  t.match(rows, [{ ...facts, userId: BigInt(user?.id ?? 0), email: 'grace@example.com' }])

  svc.clock.advance(minute)
  const again = new Visitor(svc)
  t.equal((await again.signIn('grace')).headers.location, `${frontEnd}/`)
  t.equal((await again.user())?.id, user?.id)
  t.equal(await svc.database.prisma.user.count(), 1)
  const later = await svc.database.prisma.event.findMany({ where: { type: 'login' } })
  t.equal(later.length, 2, 'each sign-in is recorded')
})

t.test('uses a new state, nonce and verifier for each flow', async (t) => {
  const svc = await buildSocial(t)
  const one = new Visitor(svc)
  const begun = [await one.begin(), await one.begin(), await new Visitor(svc).begin()]
  for (const name of ['state', 'nonce', 'code_challenge']) {
    t.equal(new Set(begun.map(({ searchParams }) => searchParams.get(name))).size, 3, name)
  }
})

t.test('returns the redirect address to an SPA', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  const answer = await grace.browser.get('/auth/acme/redirect?return_to=/here')
  t.equal(answer.statusCode, 200)
  t.strictSame(Object.keys(answer.json()), ['url'])
  const back = await grace.back(await grace.allow(new URL(answer.json().url), 'grace'))
  t.equal(back.headers.location, `${frontEnd}/here`)
  t.match(await grace.user(), { email: 'grace@example.com' })
  t.equal((await grace.browser.get('/auth/unknown/redirect')).statusCode, 404)
  t.equal((await grace.browser.get('/auth/__proto__/redirect')).statusCode, 404)
  t.equal((await grace.browser.get('/auth/unknown/callback?code=x&state=y')).statusCode, 404)
})

t.test('signs in from ten tabs of one browser', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  const began = []
  for (let tab = 0; tab < 10; tab++) began.push(await grace.begin('acme', { return_to: `/tab-${tab}` }))
  const backs = []
  for (const at of began) backs.push(await grace.allow(at, 'grace'))
  const order = [7, 0, 9, 3, 1, 8, 2, 6, 5, 4]
  for (const tab of order) {
    const answer = await grace.back(backs[tab] ?? began[0] ?? new URL('about:blank'))
    t.equal(answer.headers.location, `${frontEnd}/tab-${tab}`)
    t.match(await grace.user(), { email: 'grace@example.com' })
  }
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('creates one account for two concurrent first sign-ins', async (t) => {
  const svc = await buildSocial(t)
  const visitors = Array.from({ length: 4 }, () => new Visitor(svc))
  const backs = await Promise.all(visitors.map(async (visitor) => visitor.allow(await visitor.begin(), 'grace')))
  const answers = await Promise.all(visitors.map((visitor, index) => visitor.back(backs[index] ?? new URL('x:'))))
  for (const answer of answers) t.equal(answer.headers.location, `${frontEnd}/`, answer.body)
  t.equal(await svc.database.prisma.user.count(), 1)
  t.equal(await svc.database.prisma.socialAccount.count(), 1)
})

t.test('redirects only to the front end', async (t) => {
  const svc = await buildSocial(t)
  const odd = [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '\t//evil.example',
    '/\n/evil.example',
    ' //evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '@evil.example',
    'evil.example',
    '.evil.example',
    ':80@evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    '///evil.example',
    `/${'a'.repeat(5000)}`,
  ]
  for (const return_to of odd) {
    const visitor = new Visitor(svc)
    const start = await visitor.open(`/auth/acme/redirect?${new URLSearchParams({ return_to })}`)
    t.equal(start.statusCode, 302, return_to)
    const target = new URL(String(start.headers.location))
    t.equal(target.origin, svc.acme.issuer, return_to)
    const answer = await visitor.back(await visitor.allow(target, 'grace'))
    const led = new URL(String(answer.headers.location))
    t.equal(led.origin, frontEnd, `${return_to}: ${led.href}`)
    t.notMatch(led.href.slice(frontEnd.length, frontEnd.length + 2), /^\/[/\\]/, return_to)
  }
  const long = await new Visitor(svc).open(`/auth/acme/redirect?return_to=/${'a'.repeat(3_000)}`)
  for (const line of [long.headers['set-cookie'] ?? []].flat())
    t.ok(line.length < 4_096, 'a cookie that browsers accept')
  const twice = await new Visitor(svc).open('/auth/acme/redirect?return_to=/a&return_to=//evil.example')
  t.ok(String(twice.headers.location).startsWith(svc.acme.issuer))
})

t.test('requires the second factor as after a password', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  const userId = BigInt((await grace.user())?.id ?? 0)
  const user = await svc.createUser({ email: 'factor@example.com' })
  const ada = await enableTwoFactor(svc, user)
  await svc.database.prisma.socialAccount.updateMany({ where: { userId }, data: { userId: BigInt(user.id) } })
  const visitor = new Visitor(svc)
  const answer = await visitor.signIn('grace', 'acme', { return_to: '/orders' })
  t.match(answer.headers.location, `${frontEnd}/two-factor-challenge`)
  t.equal(await visitor.user(), null, 'anonymous before the code')
  t.equal((await visitor.browser.post('/two-factor-challenge', { code: ada.wrong() })).statusCode, 422)
  t.equal(await visitor.user(), null)
  t.equal((await visitor.browser.post('/two-factor-challenge', { code: ada.code() })).statusCode, 204)
  t.equal((await visitor.user())?.id, user.id)
})

t.test('offers providers to SPAs as a list, and on the sign-in page as links with a way back', async (t) => {
  // The language switch would repeat the address of the page.
  const svc = await buildSocial(t, { settings: { app: {}, i18n: { languages: ['en'] } } })
  const list = await svc.app.inject('/auth/providers')
  t.strictSame(list.json(), [
    { id: 'acme', label: 'Acme' },
    { id: 'github', label: 'GitHub' },
  ])
  t.notMatch(list.body, /secret|client/)
  const visitor = new Visitor(svc)
  const { body } = await visitor.open('/oauth/login?return_to=/test-tokens')
  const links = [...body.matchAll(/href="(\/auth\/[^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'))
  t.same(
    links.map((href) => href.split('?')[0]),
    ['/auth/acme/redirect', '/auth/github/redirect'],
  )
  t.match(body, /<span class="mark letter" aria-hidden="true">A<\/span><span>Continue with Acme<\/span>/)
  t.match(
    body,
    /<svg class="mark" viewBox="0 0 \d+ \d+" aria-hidden="true"><path d="M[^"]{100,}"\/><\/svg><span>Continue with GitHub<\/span>/,
  )
  const registration = (await visitor.open('/oauth/register?return_to=/test-tokens')).body
  for (const href of links)
    t.ok(registration.includes(`href="${href.replaceAll('&', '&amp;')}"`), 'and on the registration page')
  const start = await visitor.open(links[0] ?? '')
  const answer = await visitor.back(await visitor.allow(new URL(String(start.headers.location)), 'grace'))
  t.equal(new URL(String(answer.headers.location), 'http://localhost:8000').href, 'http://localhost:8000/test-tokens')
  const other = new Visitor(svc)
  const begun = await other.begin('acme', { page: '1', return_to: '/test-tokens' })
  const denied = await other.back(await other.allow(begun, 'grace', 'deny'))
  t.equal(denied.headers.location, '/oauth/login?return_to=%2Ftest-tokens&error=access_denied')
  t.match((await other.open(String(denied.headers.location))).body, /role="alert".*Access was denied/s)
  const odd = await other.open('/oauth/login?error=%3Cscript%3Ealert(1)&error=x')
  t.notMatch(odd.body, />[^<]*alert\(1\)/, 'requests cannot change the text of the page')
  const none = await buildSocial(t, { settings: { social: {}, app: {} } })
  t.strictSame((await none.app.inject('/auth/providers')).json(), [])
  t.notMatch((await new Visitor(none).open('/oauth/login')).body, '/auth/')
  t.equal(failure(await new Visitor(none).open('/auth/acme/redirect')), null)
})
