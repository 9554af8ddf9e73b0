// engine: none
import t from 'tap'
import { pruneUsedOnce } from '../../../src/auth/access/used-once.ts'
import { hour, minute } from '../../support/clock.ts'
import { Scrape } from '../../support/metrics.ts'
import { freePort } from '../../support/process.ts'
import { confirmedBrowser } from '../../support/totp.ts'
import { buildSocial, failure, frontEnd, replicaOf, type Social, Visitor } from './visitor.ts'

const changed = (url: URL, change: (query: URLSearchParams) => void): URL => {
  const other = new URL(url)
  change(other.searchParams)
  return other
}

/** A visitor who was redirected from the provider, but has not reached svc yet. */
async function returning(svc: Social, provider = 'acme', login = 'grace') {
  const visitor = new Visitor(svc)
  return { visitor, url: await visitor.allow(await visitor.begin(provider), login) }
}

t.test('accepts a callback once', async (t) => {
  const svc = await buildSocial(t)
  const { visitor, url } = await returning(svc)
  const before = await visitor.browser.jar.clone()
  t.equal((await visitor.back(url)).headers.location, `${frontEnd}/`)
  t.equal((await visitor.back(url)).headers.location, frontEnd, 'a signed-in user goes on')
  t.match(await visitor.user(), { email: 'grace@example.com' })
  const replay = new Visitor(svc)
  for (const cookie of await before.getCookies('http://localhost:8000/auth/acme/callback')) {
    await replay.browser.jar.setCookie(cookie, 'http://localhost:8000/auth/acme/callback')
  }
  t.equal(failure(await replay.back(url)), 'invalid_state', 'nor with the earlier cookies')
  t.equal(await replay.user(), null)
  t.equal(svc.acme.callsTo('/token').length, 1, 'the provider is called once')
  t.equal(await svc.database.prisma.usedOnce.count(), 1)
  svc.clock.advance(2 * hour)
  await pruneUsedOnce(svc.database, svc.clock.now())
  t.equal(await svc.database.prisma.usedOnce.count(), 0, 'prunes the state after it expired')
})

t.test('accepts a callback once across replicas', async (t) => {
  const svc = await buildSocial(t)
  const other = await replicaOf(t, svc)
  for (let round = 0; round < 3; round++) {
    svc.acme.calls.length = 0
    const { visitor, url } = await returning(svc)
    const home = 'http://localhost:8000/auth/acme/callback'
    const copies = [svc, other, svc, other].map((app) => new Visitor(app))
    for (const copy of copies) {
      for (const cookie of await visitor.browser.jar.getCookies(home)) await copy.browser.jar.setCookie(cookie, home)
    }
    const answers = await Promise.all(copies.map((copy) => copy.back(url)))
    t.equal(answers.filter((answer) => answer.headers.location === `${frontEnd}/`).length, 1)
    t.same(new Set(answers.map(failure)), new Set([null, 'invalid_state']))
    t.equal(svc.acme.callsTo('/token').length, 1)
    const users = await Promise.all(copies.map((copy) => copy.user()))
    t.equal(users.filter((user) => user !== null).length, 1)
  }
})

t.test('accepts the callback only in the browser that began the flow', async (t) => {
  const svc = await buildSocial(t)
  const { url } = await returning(svc)
  const fresh = new Visitor(svc)
  t.equal(failure(await fresh.back(url)), 'invalid_state', 'a browser without a flow')
  const busy = await returning(svc, 'acme', 'alan')
  t.equal(failure(await busy.visitor.back(url)), 'invalid_state', 'a browser with another flow')
  const spliced = changed(url, (query) => query.set('state', busy.url.searchParams.get('state') ?? ''))
  t.ok(failure(await busy.visitor.back(spliced)), "another user's code with the own state")
  const ada = await svc.createUser()
  const signedIn = svc.browser()
  await signedIn.signIn(ada.email)
  t.equal((await new Visitor(svc, signedIn).back(url)).headers.location, frontEnd, 'a signed-in user goes on')
  t.equal((await signedIn.get('/api/user')).json().id, ada.id, 'and is not signed in as another user')
  for (const visitor of [fresh, busy.visitor]) t.equal(await visitor.user(), null)
  t.equal(await svc.database.prisma.socialAccount.count(), 0)
})

t.test('rejects an invalid state before it calls the provider', async (t) => {
  const svc = await buildSocial(t)
  const states = {
    wrong: (query: URLSearchParams) => query.set('state', 'x'.repeat(43)),
    missing: (query: URLSearchParams) => query.delete('state'),
    empty: (query: URLSearchParams) => query.set('state', ''),
    longer: (query: URLSearchParams) => query.set('state', `${query.get('state')}x`),
    shorter: (query: URLSearchParams) => query.set('state', query.get('state')?.slice(0, -1) ?? ''),
    'in capitals': (query: URLSearchParams) => query.set('state', query.get('state')?.toUpperCase() ?? ''),
    twice: (query: URLSearchParams) => query.append('state', 'x'),
    undefined: (query: URLSearchParams) => query.set('state', 'undefined'),
    __proto__: (query: URLSearchParams) => query.set('state', '__proto__'),
  }
  for (const [name, change] of Object.entries(states)) {
    const { visitor, url } = await returning(svc)
    t.equal(failure(await visitor.back(changed(url, change))), 'invalid_state', name)
    t.equal(await visitor.user(), null, name)
  }
  t.equal(svc.acme.callsTo('/token').length, 0)
  const { visitor, url } = await returning(svc)
  const crossed = new URL(url.href.replace('/auth/acme/', '/auth/github/'))
  t.equal(failure(await visitor.back(crossed)), 'invalid_state', 'of another provider')
  const [cookie] = await visitor.browser.jar.getCookies('http://localhost:8000/auth/acme/callback')
  const headers = { accept: 'text/html', cookie: `${cookie?.key}=${cookie?.value}` }
  const planted = await svc.app.inject({ url: crossed.href.replace(crossed.origin, ''), headers })
  t.equal(failure(planted), 'invalid_state', 'nor with its cookie')
  t.equal(svc.forge.callsTo('/login/oauth/access_token').length, 0, 'whose code is sent to no other provider')
})

t.test('rejects an expired flow', async (t) => {
  const svc = await buildSocial(t)
  const { visitor, url } = await returning(svc)
  svc.clock.advance(11 * minute)
  t.equal(failure(await visitor.back(url)), 'expired')
  t.equal(await visitor.user(), null)
  t.equal(svc.acme.callsTo('/token').length, 0)
})

t.test('reports denials, missing codes and errors of the provider', async (t) => {
  const svc = await buildSocial(t)
  const visitor = new Visitor(svc)
  const denied = await visitor.allow(await visitor.begin('acme', { return_to: '/orders' }), 'grace', 'deny')
  const answer = await visitor.back(denied)
  t.equal(failure(answer), 'access_denied')
  t.notMatch(answer.headers.location, /access_denied.*access_denied|description/)
  t.equal(failure(await visitor.back(denied)), 'invalid_state', 'which is shown once')
  const errors = {
    server_error: 'provider_error',
    temporarily_unavailable: 'provider_error',
    "<script>alert('x')</script>": 'provider_error',
    '': 'provider_error',
  }
  for (const [error, told] of Object.entries(errors)) {
    const other = await returning(svc)
    const wrong = changed(other.url, (query) => {
      query.delete('code')
      query.set('error', error)
      query.set('error_description', 'Come to https://evil.example')
    })
    const { headers } = await other.visitor.back(wrong)
    t.match(headers.location, `error=${told}`, error)
    t.notMatch(headers.location, /evil|script/)
  }
  const empty = await returning(svc)
  const without = changed(empty.url, (query) => query.delete('code'))
  t.equal(failure(await empty.visitor.back(without)), 'provider_error', 'no code')
  t.equal(svc.acme.callsTo('/token').length, 0)
})

t.test('rejects a response of another issuer', async (t) => {
  const svc = await buildSocial(t)
  for (const change of [
    (query: URLSearchParams) => query.set('iss', 'https://evil.example'),
    (query: URLSearchParams) => query.delete('iss'),
    (query: URLSearchParams) => query.set('iss', `${svc.acme.issuer}/`),
    (query: URLSearchParams) => query.append('iss', 'https://evil.example'),
  ]) {
    const { visitor, url } = await returning(svc)
    const told = failure(await visitor.back(changed(url, change)))
    t.ok(['provider_error', 'invalid_state'].includes(String(told)), String(told))
    t.equal(await visitor.user(), null)
  }
  t.equal(svc.acme.callsTo('/token').length, 0, 'the code is not sent')
})

t.test('counts a failed sign-in once, and forged callbacks not at all', async (t) => {
  const port = await freePort()
  const svc = await buildSocial(t, { settings: { metrics: { port }, server: { host: '127.0.0.1' } } })
  const failures = async () =>
    (await Scrape.of(port)).value('svc_logins_total', { channel: 'social', outcome: 'failed' })
  t.match(failure(await new Visitor(svc).back(new URL('http://localhost:8000/auth/acme/callback?state=x'))), 'invalid')
  t.equal(await failures(), null)
  const { visitor, url } = await returning(svc, 'acme', 'unproven')
  t.equal(failure(await visitor.back(url)), 'email_unverified')
  t.equal(await failures(), 1)
})

t.test('repeats a posted callback without cookies as GET', async (t) => {
  const svc = await buildSocial(t)
  const { visitor, url } = await returning(svc)
  const answer = await svc.app.inject({
    method: 'POST',
    url: url.pathname,
    headers: {
      accept: 'text/html',
      origin: svc.acme.issuer,
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'cross-site',
    },
    payload: url.search.slice(1),
  })
  t.equal(answer.statusCode, 303)
  const target = new URL(String(answer.headers.location), 'http://localhost:8000')
  t.equal(target.pathname, url.pathname)
  t.equal(target.origin, 'http://localhost:8000')
  for (const [name, value] of url.searchParams) t.equal(target.searchParams.get(name), value, name)
  t.equal((await visitor.back(target)).headers.location, `${frontEnd}/`)
  t.match(await visitor.user(), { email: 'grace@example.com' })
})

t.test("reports to the front end's sign-in page, or to the page that was linking", async (t) => {
  const settings = { app: { frontend_url: frontEnd }, links: { login: `${frontEnd}/sign-in?lang=en` } }
  const svc = await buildSocial(t, { settings })
  const visitor = new Visitor(svc)
  const begun = await visitor.begin('acme', { return_to: '/orders' })
  const { location } = (await visitor.back(await visitor.allow(begun, 'grace', 'deny'))).headers
  const told = new URL(String(location))
  t.equal(told.origin + told.pathname, `${frontEnd}/sign-in`)
  t.match(Object.fromEntries(told.searchParams), { lang: 'en', error: 'access_denied' })
  const linking = new Visitor(svc, await confirmedBrowser(svc, (await svc.createUser()).email))
  const body = { return_to: '/settings?tab=2' }
  const { url } = (await linking.browser.post('/user/social-accounts/acme', body)).json()
  const back = await linking.back(await linking.allow(new URL(url), 'grace', 'deny'))
  t.equal(back.headers.location, `${frontEnd}/settings?tab=2&error=access_denied`)
})

t.test('answers programs with status and code', async (t) => {
  const svc = await buildSocial(t)
  const { visitor, url } = await returning(svc)
  const ask = (target: URL) => visitor.browser.get(target.pathname + target.search)
  const wrong = await ask(changed(url, (query) => query.set('state', 'x')))
  t.equal(wrong.statusCode, 400)
  t.match(wrong.json(), { code: 'invalid_state', message: String })
  visitor.leave()
  const answer = await ask(await visitor.allow(await visitor.begin(), 'grace', 'deny'))
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), { code: 'access_denied', message: String })
})
