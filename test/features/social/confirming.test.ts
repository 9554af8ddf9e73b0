import t from 'tap'
import { day, minute } from '../../support/clock.ts'
import { confirmedBrowser } from '../../support/totp.ts'
import { buildSocial, failure, frontEnd, link, list, Visitor } from './visitor.ts'

t.test('who has no password confirms at the provider', async (t) => {
  const short = { app: { frontend_url: frontEnd }, passwords: { confirm_timeout: '10m' } }
  const svc = await buildSocial(t, { settings: short })
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  const user = await grace.user()
  const session = await grace.browser.cookie('svc_session')
  const isConfirmed = async () => (await grace.browser.post(`${list}/github`, {})).statusCode === 200
  t.notOk(await isConfirmed(), 'a sign-in is no confirmation')
  const at = await grace.begin('acme', { confirm: '1', return_to: '/settings' })
  t.equal(at.searchParams.get('prompt'), 'login')
  t.equal(at.searchParams.get('max_age'), '0')
  const answer = await grace.back(await grace.allow(at, 'grace'))
  t.equal(answer.headers.location, `${frontEnd}/settings`)
  t.equal(await grace.browser.cookie('svc_session'), session)
  t.ok(await isConfirmed())
  svc.clock.advance(11 * minute)
  t.notOk(await isConfirmed(), 'for a while')

  grace.leave()
  t.ok(failure(await grace.back(await grace.allow(await grace.begin('acme', { confirm: '1' }), 'alan'))))
  t.equal((await grace.user())?.id, user?.id, 'another account confirms nothing, and signs nobody in')
  t.notOk(await isConfirmed())
  t.equal(await svc.database.prisma.user.count(), 1)
  grace.leave()
  svc.acme.changeIdToken((claims) => ({ ...claims, auth_time: Math.floor((Date.now() - day) / 1000) }))
  const old = await grace.back(await grace.allow(await grace.begin('acme', { confirm: '1' }), 'grace'))
  t.ok(failure(old), 'who signed in there long ago')
  t.notOk(await isConfirmed())
  const nobody = await new Visitor(svc).open('/auth/acme/redirect?confirm=1')
  const page = new URL(String(nobody.headers.location))
  t.equal(
    page.href,
    'http://localhost:8000/oauth/login?return_to=%2Fauth%2Facme%2Fredirect%3Fconfirm%3D1',
    'first sign in',
  )
  const program = await svc.browser().get('/auth/acme/redirect?confirm=1')
  t.equal(program.statusCode, 401)
})

t.test('a linked account whose own address is yet to be verified', async (t) => {
  const registration = { require_verified_email: true }
  const svc = await buildSocial(t, { settings: { app: { frontend_url: frontEnd }, registration } })
  const user = await svc.createUser({ email: 'ada@example.com' })
  const ada = { visitor: new Visitor(svc, await confirmedBrowser(svc, user.email)) }
  t.equal((await link(ada, 'unproven')).statusCode, 302)
  await svc.database.prisma.user.updateMany({ data: { emailVerifiedAt: null } })
  const browser = new Visitor(svc)
  await browser.signIn('unproven')
  const api = await browser.browser.get('/api/tokens')
  t.equal(api.statusCode, 403)
  t.match(api.json(), { code: 'email_unverified' })
  const program = await new Visitor(svc).signIn('unproven', 'acme', { stateless: '1', device_name: 'Phone' })
  t.equal(program.statusCode, 422)
  t.match(program.json(), { code: 'email_unverified' })
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})
