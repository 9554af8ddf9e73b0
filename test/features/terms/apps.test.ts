import t from 'tap'
import { registration } from '../../support/accounts.ts'
import { testConfig } from '../../support/app.ts'
import { Device } from '../../support/device.ts'
import { codeFlow, Person, refresh, token } from '../../support/oauth.ts'
import { credentials } from '../../support/plain.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { hooked, startService } from '../decision-hooks/policy.ts'
import { mailedCode } from '../email-code/setup.ts'
import { exchange, handIn } from '../social/mobile.ts'
import { buildSocial, mobileUri } from '../social/visitor.ts'

import { acceptances, build, change, settings, terms, text } from './setup.ts'

t.test('asks apps at sign-in, and leaves the tokens that exist alone', async (t) => {
  const svc = await build(t, { terms: {} })
  const user = await svc.createUser()
  const api = await svc.createToken(user)
  const tokens = await codeFlow(svc, new Person(svc, user.email), 'web', { scope: 'orders:read' })
  change(svc, '2026-11')
  t.equal((await svc.bearer(api, 'GET', '/api/user')).statusCode, 200)
  t.equal((await svc.bearer(tokens.access_token, 'GET', '/api/user')).statusCode, 200)
  t.equal((await refresh(svc, 'web', tokens.refresh_token)).statusCode, 200)
  t.equal(
    (await svc.bearer(api, 'POST', '/user/terms', { version: '2026-11' })).statusCode,
    401,
    'only a session accepts',
  )

  const app = new Device(svc)
  const refused = await app.token(credentials(user.email))
  t.equal(refused.statusCode, 422)
  t.strictSame(refused.json(), { message: text, code: 'terms_not_accepted', errors: { terms: [text] } })
  t.equal((await app.token({ ...credentials(user.email), terms: '2026-10' })).statusCode, 422)
  t.match((await app.token({ ...credentials(user.email, 'wrong'), terms: '2026-11' })).json(), {
    code: 'invalid_credentials',
  })
  t.strictSame(await acceptances(svc), [], 'nothing is accepted without the password')
  const fields = { grant_type: 'password', username: user.email, password: 'correct horse' }
  t.strictSame((await token(svc, 'legacy', fields)).json(), { error: 'invalid_grant', error_description: text })
  t.equal((await app.token({ ...credentials(user.email), terms: '2026-11' })).statusCode, 200)
  t.strictSame(await acceptances(svc), [[user.id, '2026-11']])
  t.equal((await app.token(credentials(user.email))).statusCode, 200, 'and never again')
})

t.test('records only the version that the user has accepted, however long the sign-in takes', async (t) => {
  const service = await startService(t)
  const hooks = hooked(service, { before_sign_in: {}, before_registration: {} })
  const svc = await build(t, hooks)
  const user = await svc.createUser()
  const app = new Device(svc)
  const to = (version: string) => () => {
    svc.config.swap(testConfig({ ...settings, ...hooks, terms: terms(version) }).current())
    return {}
  }
  service.answer = to('2027-01')
  t.equal((await app.token({ ...credentials(user.email), terms: '2026-11' })).statusCode, 200)
  t.strictSame(await acceptances(svc), [[user.id, '2026-11']])
  service.answer = to('2027-02')
  t.match((await app.token(credentials(user.email))).json(), { code: 'terms_not_accepted' })
  t.match((await app.token({ ...credentials(user.email), terms: '2027-01' })).json(), { token: String })
  t.strictSame(await acceptances(svc), [
    [user.id, '2026-11'],
    [user.id, '2027-01'],
  ])

  service.answer = to('2027-03')
  const fields = registration('new@example.com', { terms: '2027-02', device_name: 'Phone' })
  const created = await app.post('/svc/register', fields)
  t.equal(created.statusCode, 201, 'the account exists')
  t.equal(created.json().token, null)
})

t.test('continues with a challenge after a proof that works once', async (t) => {
  const svc = await build(t, { login: { email_code: true } })
  const user = await svc.createUser()
  const app = new Device(svc)
  const begin = async () => {
    const { challenge_token } = (await app.post('/svc/email-code', { email: user.email })).json()
    return app.token({ email_code: await mailedCode(svc, user.email), challenge_token })
  }
  const held = await begin()
  t.match(held.json(), { code: 'terms_not_accepted', challenge: String })
  const { challenge } = held.json()
  t.match((await app.post('/svc/token', { challenge })).json(), { code: 'terms_not_accepted' })
  t.match((await app.post('/svc/token', { challenge, terms: '2026-11' })).json(), { token: String })
  t.match((await app.post('/svc/token', { challenge, terms: '2026-11' })).json(), { code: 'challenge_expired' }, 'once')

  const factor = await enableTwoFactor(svc, user)
  await svc.database.prisma.user.updateMany({ data: { attributes: '{}' } })
  const second = await app.token({ ...credentials(user.email), terms: '2026-11' })
  t.match(second.json(), { code: 'two_factor_required' })
  t.equal((await acceptances(svc)).length, 1, 'nothing new without the second factor')
  const begun = await begin()
  t.match(begun.json(), { code: 'terms_not_accepted' })
  const both = { challenge: begun.json().challenge, terms: '2026-11', code: factor.code() }
  t.match((await app.post('/svc/token', both)).json(), { token: String })
})

t.test('asks apps that sign in at a provider', async (t) => {
  const svc = await buildSocial(t, { acme: { redirect_uris: [mobileUri] }, settings: { terms: terms('1') } })
  const held = await exchange(svc, await handIn(svc, 'grace'))
  t.match(held.json(), { code: 'terms_not_accepted', challenge: String })
  const { challenge } = held.json()
  t.match((await exchange(svc, { challenge, terms: '1' })).json(), { token: String })
  const direct = await exchange(svc, await handIn(svc, 'alan', { terms: '1' }))
  t.match(direct.json(), { token: String }, 'in one request')
})
