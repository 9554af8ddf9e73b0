import t from 'tap'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { registration, strongPassword, visitor } from '../../support/accounts.ts'
import { runCommandOn } from '../../support/command.ts'
import { Device } from '../../support/device.ts'
import { Person, request, response } from '../../support/oauth.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { buildGuarded, navigation } from '../forward-auth/setup.ts'
import { buildSocial, Visitor } from '../social/visitor.ts'

import { acceptances, build, change, terms, text } from './setup.ts'

t.test('registers only people who accept the current terms', async (t) => {
  const svc = await build(t)
  t.strictSame((await svc.bearer(null, 'GET', '/terms')).json(), terms('2026-11'))
  const browser = await visitor(svc)
  for (const more of [{}, { terms: null }, { terms: '2026-10' }, { terms: '' }]) {
    const refused = await browser.post('/register', registration('ada@example.com', more))
    t.equal(refused.statusCode, 422)
    t.strictSame(refused.json().errors, { terms: [text] })
  }
  t.equal((await browser.post('/register', registration('ada@example.com', { terms: true }))).statusCode, 422)
  t.equal(await svc.database.prisma.user.count(), 0)
  t.equal((await browser.post('/register', registration('ada@example.com', { terms: '2026-11' }))).statusCode, 201)
  const user = (await browser.get('/api/user')).json()
  t.equal(user.email, 'ada@example.com')
  t.notOk('terms' in user)
  t.strictSame(await acceptances(svc), [[user.id, '2026-11']])
  const data = (await browser.get('/user/export')).json()
  t.match(data, { profile: { terms: [{ version: '2026-11', accepted_at: /^20\d\d-.*Z$/ }] } })

  const app = new Device(svc)
  t.equal((await app.post('/svc/register', registration('bob@example.com'))).statusCode, 422)
  const accepted = registration('bob@example.com', { terms: '2026-11', device_name: 'Phone' })
  t.match((await app.post('/svc/register', accepted)).json(), { token: String })

  const page = new ScriptlessBrowser(svc)
  t.match(
    (await page.open('/oauth/register')).body,
    /name="terms" value="2026-11" required[\s\S]*href="https:\/\/example.com\/terms\/2026-11"/,
  )
  const form = { name: 'Eve', email: 'eve@example.com', password: strongPassword }
  const again = await page.send('/oauth/register', form)
  t.equal(again.statusCode, 422)
  t.match(again.body, text)
  t.equal((await page.send('/oauth/register', { ...form, terms: '2026-11' })).statusCode, 303)
  t.ok(await page.user())
})

t.test('holds sessions until their users accept a new version', async (t) => {
  const svc = await build(t)
  const user = await svc.createUser()
  const browser = svc.browser()
  t.equal((await browser.signIn(user.email)).statusCode, 200)
  const held = await browser.get('/api/user')
  t.equal(held.statusCode, 403)
  t.strictSame(held.json(), { message: text, code: 'terms_not_accepted' })
  t.equal((await browser.get('/api/tokens')).statusCode, 403)
  t.equal((await browser.post('/tokens/create', { token_name: 'x' })).statusCode, 403)
  for (const path of ['/account', '/account/data', '/account/sessions'])
    t.equal((await browser.get(path, { accept: 'text/html' })).statusCode, 200, `${path} stays open`)
  const wrong = await browser.post('/user/terms', { version: '2026-10' })
  t.equal(wrong.statusCode, 422)
  t.strictSame(wrong.json().errors, { version: [text] })
  t.equal((await browser.post('/user/terms', {})).statusCode, 422)
  t.equal((await browser.get('/api/user')).statusCode, 403)
  const parallel = await Promise.all([1, 2, 3].map(() => browser.post('/user/terms', { version: '2026-11' })))
  t.strictSame(
    parallel.map(({ statusCode }) => statusCode),
    [200, 200, 200],
  )
  t.equal((await browser.get('/api/user')).statusCode, 200)
  t.strictSame(await acceptances(svc), [[user.id, '2026-11']], 'recorded once')

  change(svc, '2027-01')
  t.equal((await browser.get('/api/user')).statusCode, 403)
  t.equal((await browser.post('/user/terms', { version: '2026-11' })).statusCode, 422, 'the version of an old page')
  change(svc, '2026-11')
  t.equal((await browser.get('/api/user')).statusCode, 200, 'accepted before')
  change(svc, null)
  t.equal((await browser.get('/api/user')).statusCode, 200)
  t.equal((await browser.post('/user/terms', { version: '2026-11' })).statusCode, 200, 'nothing to accept')
  t.equal((await svc.bearer(null, 'GET', '/terms')).statusCode, 404)
  change(svc, '2027-01')
  t.equal((await browser.post('/logout')).statusCode, 200, 'everybody can sign out')
})

t.test('keeps the terms with other changes of the profile', async (t) => {
  const svc = await build(t, { users: { name_parts: true } })
  const user = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(user.email)
  await browser.post('/user/terms', { version: '2026-11' })
  const profile = { name: 'Ada', email: user.email, given_name: 'Ada' }
  t.equal((await browser.put('/user/profile-information', profile)).statusCode, 200)
  t.equal((await browser.get('/api/user')).statusCode, 200)
  await browser.put('/user/profile-information', { ...profile, terms: [] })
  t.equal((await browser.get('/api/user')).statusCode, 200, 'a field of this name changes nothing')
})

t.test('keeps the latest fifty versions, which operators can list', async (t) => {
  const svc = await build(t)
  const user = await svc.createUser()
  const before = Array.from({ length: 60 }, (_, n) => ({ version: `v${n}`, accepted_at: '2026-01-01T00:00:00.000Z' }))
  await svc.database.prisma.user.updateMany({ data: { attributes: JSON.stringify({ terms: before }) } })
  const browser = svc.browser()
  await browser.signIn(user.email)
  await browser.post('/user/terms', { version: '2026-11' })
  const [listed = '{}'] = await runCommandOn(svc, 'user:list')
  const versions = JSON.parse(listed).terms.map(({ version }: { version: string }) => version)
  t.strictSame([versions.length, versions[0], versions.at(-1)], [50, 'v11', '2026-11'])
})

t.test('asks on a page, and returns to where the user came from', async (t) => {
  const svc = await build(t)
  const user = await svc.createUser()
  const page = new ScriptlessBrowser(svc)
  t.strictSame(redirectOf(await page.open('/oauth/terms')), [
    303,
    'http://localhost:8000/oauth/login?return_to=%2Foauth%2Fterms',
  ])
  await page.send('/oauth/login', credentials(user.email))
  t.match((await page.open('/')).body, /id="offer-terms" href="\/oauth\/terms"/)
  const shown = await page.open('/oauth/terms?return_to=/account')
  t.equal(shown.statusCode, 200)
  t.match(shown.body, 'https://example.com/terms/2026-11')
  const error = await page.open('/oauth/personal-access-tokens')
  t.match(error.body, /href="\/oauth\/terms\?return_to=%2Foauth%2Fpersonal-access-tokens"/, 'an error page leads there')
  const outdated = await page.post('/oauth/terms', {
    version: '2026-10',
    _token: /name="_token" value="([^"]+)"/.exec(shown.body)?.[1] ?? '',
  })
  t.equal(outdated.statusCode, 422)
  t.match(outdated.body, text)
  t.strictSame(redirectOf(await page.press('/oauth/terms?return_to=/account', 'terms-submit')), [303, '/account'])
  t.strictSame(
    redirectOf(await page.open('/oauth/terms?return_to=/account')),
    [303, '/account'],
    'nothing is left to accept',
  )
  t.strictSame(redirectOf(await page.open('/oauth/terms?return_to=https://evil.example')), [303, '/'])
  t.notMatch((await page.open('/')).body, 'offer-terms')
})

t.test('asks before an authorization, which then continues', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser()
  for (const client of ['own', 'web']) {
    const ada = new Person(svc, email)
    const query = request(client, { scope: 'openid orders:read' })
    const stop = await ada.press(await ada.authorize(query), credentials(email))
    t.equal(stop.page, 'Terms of service')
    const silent = await ada.authorize({ ...query, prompt: 'none' })
    t.match(response(silent), { error: client === 'web' ? 'consent_required' : 'interaction_required' })
    const next = await ada.press(stop, { version: '2026-11' })
    const done = next.page === 'Authorize' ? await ada.press(next, { decision: 'approve' }) : next
    t.equal(next.page, client === 'web' ? 'Authorize' : null, 'a first-party client needs no consent')
    t.ok(response(done).code)
    await svc.database.prisma.user.updateMany({ data: { attributes: '{}' } })
  }
})

t.test('links no provider while the terms wait', async (t) => {
  const svc = await buildSocial(t, { settings: { app: { frontend_url: 'http://localhost:8000' }, terms: terms('1') } })
  const user = await svc.createUser({ email: 'unproven@example.com' })
  const visitor = new Visitor(svc)
  const back = await visitor.back(await visitor.allow(await visitor.begin('acme', { page: '1' }), 'unproven'))
  t.equal(back.statusCode, 302)
  const page = new ScriptlessBrowser(visitor.browser)
  await page.send(String(back.headers.location), credentials(user.email))
  t.equal((await visitor.browser.get('/oauth/personal-access-tokens')).statusCode, 403)
  const shown = await page.open('/oauth/link-provider')
  const token = /name="_token" value="([^"]+)"/.exec(shown.body)?.[1] ?? ''
  await page.post('/oauth/link-provider', { decision: 'link', _token: token })
  t.equal(await svc.database.prisma.socialAccount.count(), 0)
})

t.test('saves no consent after the terms have changed', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser()
  const ada = new Person(svc, email)
  const query = request('web', { scope: 'openid orders:read' })
  const asked = await ada.press(await ada.press(await ada.authorize(query), credentials(email)), { version: '2026-11' })
  t.equal(asked.page, 'Authorize')
  change(svc, '2027-01')
  const held = await ada.press(asked, { decision: 'approve' })
  t.equal(held.page, 'Terms of service')
  t.equal(await svc.database.prisma.oauthConsent.count(), 0)
})

t.test('asks new users of an identity provider after the sign-in', async (t) => {
  const svc = await buildSocial(t, { acme: { trust_email: true }, settings: { terms: terms('1') } })
  const visitor = new Visitor(svc)
  await visitor.signIn('grace')
  t.equal((await visitor.browser.get('/api/user')).statusCode, 403)
  await visitor.browser.post('/user/terms', { version: '1' })
  t.match(await visitor.user(), { email: 'grace@example.com' })
})

t.test('sends people whom the guard refuses to the page', async (t) => {
  const svc = await buildGuarded(t, [{ paths: ['/*'], access: 'authenticated' }], { terms: terms('2026-11') })
  const user = await svc.createUser()
  const browser = svc.browser({ origin: 'https://app.example.com', url: 'https://auth.example.com' })
  await browser.signIn(user.email)
  const ask = async () => {
    const cookie = await browser.jar.getCookieString('https://api.example.com/')
    return svc.ask({ headers: { ...navigation, cookie }, url: 'https://api.example.com/reports' })
  }
  const refused = await ask()
  t.equal(refused.statusCode, 302)
  const page = 'https://auth.example.com/oauth/terms?return_to=https%3A%2F%2Fapi.example.com%2Freports'
  t.equal(refused.headers.location, page)
  await browser.post('/user/terms', { version: '2026-11' })
  t.equal((await ask()).statusCode, 200)
})

t.test('reports mistakes in the section', async (t) => {
  const problem = (section: object) => {
    try {
      parseConfig({ text: JSON.stringify({ terms: section }), file: 'svc.yaml', env: {}, cwd: '/' })
      return ''
    } catch (error) {
      return String(error)
    }
  }
  t.equal(problem({ version: '1', url: 'https://example.com' }), '')
  t.match(problem({ version: '1' }), /terms.url: is required together/)
  t.match(problem({ url: 'https://example.com' }), /terms.version: is required together/)
  t.match(problem({ version: 'a b', url: 'https://example.com' }), /printable ASCII/)
})
