// engine: none
import t from 'tap'
import { openAdminPages, withAdminPages } from '../../../support/admin-pages.ts'
import { buildTestApp } from '../../../support/app.ts'
import { hour } from '../../../support/clock.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../../support/plain.ts'
import { enableTwoFactor } from '../../../support/totp.ts'

const paths = ['', 'users', 'invitations', 'groups', 'events', 'clients', 'providers', 'guard', 'keys', 'deliveries']
const pages = [...paths, 'configuration', 'users/1', 'users/1/disable'].map((name) => `/admin${name && `/${name}`}`)

t.test('answers 404 without admin.pages', async (t) => {
  const { svc, browser } = await openAdminPages(t)
  svc.config.swap({ ...svc.config.current(), admin: { ...svc.config.current().admin, pages: false } })
  for (const page of pages) t.equal((await browser.open(page)).statusCode, 404, page)
})

t.test('lets in only administrators', async (t) => {
  const svc = await buildTestApp(t, { settings: withAdminPages() })
  const visitor = new ScriptlessBrowser(svc)
  const user = await enableTwoFactor(svc)
  const browser = new ScriptlessBrowser(svc)
  await browser.send('/oauth/login', credentials(user.email))
  await browser.send('/oauth/login', { code: user.code() })
  const boss = await svc.createUser({ role: 'admin', email: 'boss@example.com' })
  const bearer = await svc.createToken(boss, { abilities: ['svc:admin'] })
  for (const page of pages) {
    const target = encodeURIComponent(page)
    t.strictSame(redirectOf(await visitor.open(page)), [303, `http://localhost:8000/oauth/login?return_to=${target}`])
    t.equal((await browser.open(page)).statusCode, 403, page)
    t.equal((await svc.bearer(bearer, 'GET', page)).statusCode, 401, `${page} with a token`)
  }
})

t.test('requires a second factor, and sends the administrator where it can be proven or set up', async (t) => {
  const svc = await buildTestApp(t, { settings: withAdminPages({ login: { trust_browser: '30d' } }) })
  const user = await svc.createUser({ role: 'admin', email: 'boss@example.com' })
  const browser = new ScriptlessBrowser(svc)
  await browser.send('/oauth/login', credentials(user.email))
  for (const page of pages) {
    const setup = `http://localhost:8000/account/two-factor?return_to=${encodeURIComponent(page)}`
    t.strictSame(redirectOf(await browser.open(page)), [303, setup])
    t.equal((await browser.browser.get(page)).json().code, 'second_factor_required')
  }
  const admin = await enableTwoFactor(svc, user)
  const trusting = new ScriptlessBrowser(svc)
  await trusting.send('/oauth/login', credentials(user.email))
  await trusting.send('/oauth/login', { code: admin.code(), trust_browser: '1' })
  t.equal((await trusting.open('/admin')).statusCode, 200)
  await trusting.press('/', 'sign-out')
  svc.clock.advance(hour)
  await trusting.send('/oauth/login', credentials(user.email))
  t.equal(await trusting.user(), user.id, 'a trusted browser signs in without a code')
  const again = 'http://localhost:8000/oauth/login?return_to=%2Fadmin&prompt=login'
  t.strictSame(redirectOf(await trusting.open('/admin')), [303, again])
  const page = await trusting.open(again.replace('http://localhost:8000', ''))
  t.match(page.body, 'Administration requires a passkey or a second factor.')
  const asked = await trusting.send(again.replace('http://localhost:8000', ''), credentials(user.email))
  t.match(asked.headers.location ?? asked.body, /login|code/, 'asks for the code, although the browser is trusted')
  await trusting.send('/oauth/login?return_to=%2Fadmin', { code: admin.code() })
  t.equal((await trusting.open('/admin')).statusCode, 200)
})

t.test('requires a recent confirmation for every page', async (t) => {
  const { svc, browser } = await openAdminPages(t, { passwords: { confirm_timeout: '10m' } })
  t.equal((await browser.open('/admin/users')).statusCode, 200)
  svc.clock.advance(hour)
  for (const page of pages) {
    const confirm = `/account/confirm?return_to=${encodeURIComponent(page)}`
    t.strictSame(redirectOf(await browser.open(page)), [303, confirm])
  }
})

t.test('ignores forms of other sites', async (t) => {
  const { svc, browser, admin } = await openAdminPages(t)
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const answer = await browser.browser.send('POST', `/admin/users/${ada.id}/delete`, Buffer.from(''), {
    accept: 'text/html',
    'content-type': 'application/x-www-form-urlencoded',
    origin: 'https://evil.example',
    'sec-fetch-site': 'cross-site',
  })
  t.equal(answer.statusCode, 419)
  t.equal((await browser.post(`/admin/users/${ada.id}/delete`, { _token: 'wrong' })).statusCode, 419)
  t.equal((await browser.open(`/admin/users/${ada.id}`)).statusCode, 200)
  await svc.database.prisma.user.update({ where: { id: BigInt(admin.user.id) }, data: { role: 'user' } })
  t.equal((await browser.open('/admin')).statusCode, 403, 'the role counts at once')
})
