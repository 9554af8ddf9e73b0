// engine: none
import type { JWTPayload } from 'jose'
import t from 'tap'
import { testConfig } from '../../support/app.ts'
import { day, minute } from '../../support/clock.ts'
import { confirmedBrowser } from '../../support/totp.ts'
import { buildSocial, failure, frontEnd, link, list, Visitor } from './visitor.ts'

const at = (provider: string) => `/auth/${provider}/confirm`

/** Begins a confirmation; returns the redirect address. */
async function begin({ browser }: Visitor, body: object = {}): Promise<URL> {
  const answer = await browser.post(at('acme'), body)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return new URL(answer.json().url)
}

const isConfirmed = async ({ browser }: Visitor) => (await browser.post(`${list}/github`, {})).statusCode === 200

t.test('confirms a user without a password by a new sign-in at a linked provider', async (t) => {
  const short = { app: { frontend_url: frontEnd }, passwords: { confirm_timeout: '10m' } }
  const svc = await buildSocial(t, { settings: short })
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  const user = await grace.user()
  const session = await grace.browser.cookie('svc_session')
  t.notOk(await isConfirmed(grace), 'a sign-in is not a confirmation')
  const there = await begin(grace, { return_to: '/settings' })
  t.match(Object.fromEntries(there.searchParams), { prompt: 'login', max_age: '0' })
  const answer = await grace.back(await grace.allow(there, 'grace'))
  t.equal(answer.headers.location, `${frontEnd}/settings`)
  t.equal(await grace.browser.cookie('svc_session'), session)
  t.ok(await isConfirmed(grace))
  svc.clock.advance(11 * minute)
  t.notOk(await isConfirmed(grace), 'the confirmation expires')

  grace.leave()
  t.equal(failure(await grace.back(await grace.allow(await begin(grace), 'alan'))), 'access_denied')
  t.equal((await grace.user())?.id, user?.id, 'another account at the provider neither confirms nor signs in')
  t.notOk(await isConfirmed(grace))
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('rejects a confirmation unless the ID token states a recent sign-in', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  const seconds = (ago: number) => Math.floor((Date.now() - ago) / 1000)
  const changes: Record<string, (claims: JWTPayload) => JWTPayload> = {
    'a day ago': (claims) => ({ ...claims, auth_time: seconds(day) }),
    'two minutes ago': (claims) => ({ ...claims, auth_time: seconds(2 * minute) }),
    'no auth_time': ({ auth_time: _, ...claims }) => claims,
    'as text': (claims) => ({ ...claims, auth_time: String(seconds(0)) }),
    negative: (claims) => ({ ...claims, auth_time: -1 }),
  }
  for (const [name, change] of Object.entries(changes)) {
    svc.acme.changeIdToken(change)
    grace.leave()
    t.equal(failure(await grace.back(await grace.allow(await begin(grace), 'grace'))), 'provider_error', name)
    t.notOk(await isConfirmed(grace), name)
  }
  svc.acme.changeIdToken((claims) => ({ ...claims, auth_time: seconds(0) }))
  grace.leave()
  t.equal(failure(await grace.back(await grace.allow(await begin(grace), 'grace'))), null)
  t.ok(await isConfirmed(grace))
})

t.test('rejects a confirmation that a link on another site begins', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  for (const query of ['confirm=1', 'confirm=0', 'confirm', 'confirm=1&prompt=login', 'confirm=1&stateless=1']) {
    for (const answer of [
      await grace.open(`/auth/acme/redirect?${query}`),
      await grace.browser.get(`/auth/acme/redirect?${query}`),
      await new Visitor(svc).open(`/auth/acme/redirect?${query}`),
    ]) {
      t.equal(answer.statusCode, 400, query)
      t.match(answer.body, 'POST /auth/{provider}/confirm')
      t.notMatch(String(answer.headers['set-cookie']), 'social')
    }
  }
  t.equal((await grace.browser.get(at('acme'))).statusCode, 405)
  t.equal((await grace.browser.post(at('acme'), {}, { 'x-xsrf-token': undefined })).statusCode, 419)
  t.equal((await grace.browser.post(at('acme'), {}, { 'x-xsrf-token': 'wrong' })).statusCode, 419)
  t.notOk(await isConfirmed(grace))
})

t.test('requires a session, a linked OpenID provider, and a user without a password for a confirmation', async (t) => {
  const svc = await buildSocial(t)
  const ada = new Visitor(svc, await confirmedBrowser(svc, (await svc.createUser()).email))
  const refused = async ({ browser }: Visitor, provider: string, message: RegExp) => {
    const answer = await browser.post(at(provider), {})
    t.equal(answer.statusCode, 400, provider)
    t.match(answer.json(), { code: 'access_denied', message })
  }
  t.equal((await svc.browser().post(at('acme'), {})).statusCode, 401)
  const token = await svc.createToken(await svc.createUser())
  t.equal((await svc.bearer(token, 'POST', at('acme'), {})).statusCode, 401, 'a bearer token is not a session')
  await link({ visitor: ada }, 'unproven')
  await refused(ada, 'acme', /has a password/)
  const smith = new Visitor(svc)
  await smith.signIn('wayland', 'github')
  await refused(smith, 'github', /does not prove when/)
  await refused(smith, 'acme', /No account at this provider/)
  for (const name of ['unknown', '__proto__', '%00']) {
    t.equal((await smith.browser.post(at(name), {})).statusCode, 404, name)
  }
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  grace.leave()
  const elsewhere = await begin(grace, { return_to: '//evil.example', session: 'x', intent: 'link' })
  t.equal((await grace.back(await grace.allow(elsewhere, 'grace'))).headers.location, `${frontEnd}/`)
  t.same((await grace.browser.get(list)).json().length, 1)
})

t.test('rejects a pending confirmation when the provider stops proving the time', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  grace.leave()
  const back = await grace.allow(await begin(grace), 'grace')
  const plain = { app: { frontend_url: frontEnd }, social: { acme: svc.forge.settings } }
  svc.config.swap({ ...svc.config.current(), social: testConfig(plain).current().social })
  t.equal(failure(await grace.back(back)), 'access_denied')
  t.notOk(await isConfirmed(grace))
})

t.test('rejects a confirmation that another session began', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  grace.leave()
  const back = await grace.allow(await begin(grace), 'grace')
  const elsewhere = new Visitor(svc)
  await elsewhere.signIn('grace')
  t.equal((await elsewhere.back(back)).headers.location, frontEnd, 'another browser goes on')
  t.notOk(await isConfirmed(elsewhere))
  await grace.browser.post('/logout')
  grace.leave()
  await grace.signIn('grace')
  t.equal(failure(await grace.back(back)), 'invalid_state', 'nor a new session of the same browser')
  t.notOk(await isConfirmed(grace))
})

t.test('confirms by a linked account with an unverified address', async (t) => {
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
