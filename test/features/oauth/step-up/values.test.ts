// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { hour, minute } from '../../../support/clock.ts'
import { basic, oauthSettings, Person, post, request, response } from '../../../support/oauth.ts'
import { credentials } from '../../../support/plain.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { buildSocial, Visitor as SocialVisitor } from '../../social/visitor.ts'
import { build, essential, ScriptedPerson, stepUp, tokensAt } from './people.ts'

t.test('lists the acr values in discovery', async (t) => {
  const { app } = await build(t)
  const discovered = (await app.inject('/.well-known/openid-configuration')).json()
  t.same(discovered.acr_values_supported, ['0', '1', '2', 'phr'])
  t.ok(['acr', 'amr', 'auth_time'].every((claim) => discovered.claims_supported.includes(claim)))
})

t.test('reports in acr and amr how the user signed in', async (t) => {
  const svc = await build(t, { passkeys: { user_verification: 'preferred' } })
  const ada = await ScriptedPerson.signedIn(svc)
  t.match(await ada.claims(), { acr: '1', amr: ['pwd'] }, 'password')
  const authenticator = await ada.addPasskey()

  const verified = ada.elsewhere()
  await verified.visitor.login(authenticator)
  t.match(await verified.claims(), { acr: 'phr', amr: ['pop', 'user', 'mfa'] }, 'passkey with user verification')
  const present = ada.elsewhere()
  await present.visitor.login(authenticator, { userVerified: false })
  t.same((await present.claims()).amr, ['pop', 'user'], 'passkey without user verification')
  t.equal((await present.claims()).acr, '1')

  await ada.addApp()
  const both = ada.elsewhere()
  await both.plain.send('/oauth/login', credentials(ada.email))
  await both.plain.send('/oauth/login', { code: both.code() })
  t.match(await both.claims(), { acr: '2', amr: ['pwd', 'otp', 'mfa'] }, 'password and code')
})

t.test('counts a sign-in at another provider as one factor', async (t) => {
  const svc = await buildSocial(t, { clock: stopTime(t), settings: oauthSettings })
  const visitor = new SocialVisitor(svc, svc.browser({ origin: 'http://localhost:8000' }))
  await visitor.back(await visitor.allow(await visitor.begin('acme'), 'grace'))
  const fresh = (await visitor.browser.post('/oauth/token/fresh', {})).json()
  t.match(decodeJwt(fresh.access_token), { acr: '1', auth_time: Math.floor(svc.clock.now() / 1000) })
  const grace = new Person(visitor.browser, 'grace@example.com')
  const asked = { client_id: 'web', response_type: 'code', redirect_uri: 'http://localhost:9999/cb', scope: 'openid' }
  const { code = '' } = response(await grace.allow(asked))
  const fields = { grant_type: 'authorization_code', code, redirect_uri: asked.redirect_uri }
  t.match(decodeJwt((await post(svc, '/oauth/token', 'web', fields)).json().id_token), { acr: '1', amr: ['fed'] })
  t.match(response(await grace.allow({ ...asked, ...essential('2') })), {
    error: 'unmet_authentication_requirements',
  })
})

t.test('reports no authentication for a remembered browser', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc, { remember: '1' })).addApp()
  const began = Math.floor(svc.clock.now() / 1000) - 60
  const done = await ada.ask({ acr_values: '2' })
  t.match((await tokensAt(ada, await ada.press(done, { code: ada.code() }))).id, { acr: '2' })
  travel(svc, 3 * hour)
  const claims = await ada.claims()
  t.equal(claims.acr, '0')
  t.equal(claims.amr, undefined)
  t.match(await ada.claims({ max_age: '1000000' }), { auth_time: began })
  t.match(response(await ada.ask({ ...essential('1'), prompt: 'none' })), { error: 'login_required' })

  const login = await ada.authorize(request('web', { scope: 'openid', acr_values: '2' }))
  t.equal(login.page, 'Sign in', 'a code alone would be one factor')
  const challenge = await ada.press(login, credentials(ada.email))
  t.equal(challenge.page, 'Two-factor authentication')
  t.match((await tokensAt(ada, await ada.press(challenge, { code: ada.code() }))).id, { acr: '2' })
})

t.test('steps a remembered browser up by a passkey alone', async (t) => {
  const svc = await build(t, { passkeys: { user_verification: 'preferred' } })
  const ada = await ScriptedPerson.signedIn(svc, { remember: '1' })
  const authenticator = await ada.addPasskey()
  travel(svc, 3 * hour)
  const page = await ada.ask({ acr_values: 'phr' })
  t.equal(page.page, stepUp)
  await ada.confirm(authenticator, { userVerified: false })
  t.equal((await ada.go(page.path)).page, stepUp, 'a touch alone is one factor')
  t.match((await ada.claims()).acr, '1')
  await ada.confirm(authenticator)
  t.match((await tokensAt(ada, await ada.go(page.path))).id, { acr: 'phr', amr: ['pop', 'user', 'mfa'] })
})

t.test('reports the factors of the password grant', async (t) => {
  const phone = {
    client_id: 'phone',
    type: 'confidential',
    secret: 'a-secret-that-is-long-enough',
    grants: ['password', 'refresh_token'],
  }
  const svc = await build(t, { clients: [phone] })
  const ada = await ScriptedPerson.signedIn(svc)
  const ask = async (more: object) =>
    (
      await svc.app.inject({
        method: 'POST',
        url: '/oauth/token',
        headers: basic('phone'),
        payload: { grant_type: 'password', username: ada.email, password: 'correct horse', scope: 'openid', ...more },
      })
    ).json()
  const one = await ask({})
  const now = Math.floor(svc.clock.now() / 1000)
  t.match(decodeJwt(one.id_token), { acr: '1', amr: ['pwd'], auth_time: now })
  t.match(decodeJwt(one.access_token), { acr: '1', auth_time: now })
  await ada.addApp()
  const two = await ask({ otp: ada.code() })
  t.match(decodeJwt(two.id_token), { acr: '2', amr: ['pwd', 'otp', 'mfa'] })
  t.match(decodeJwt(two.access_token), { acr: '2', auth_time: now + 60 })
  travel(svc, minute)
  const renewed = await ask({ grant_type: 'refresh_token', refresh_token: two.refresh_token })
  t.match(decodeJwt(renewed.access_token), { acr: '2', auth_time: now + 60 }, 'a refresh keeps them')
})

t.test('puts acr and auth_time into tokens of a session, and not into machine or personal tokens', async (t) => {
  const svc = await build(t)
  const ada = await ScriptedPerson.signedIn(svc)
  const { browser } = ada.plain
  const personal = (await browser.post('/oauth/personal-access-tokens', { name: 'laptop' })).json().accessToken
  const fresh = (await browser.post('/oauth/token/fresh', {})).json().access_token
  const machine = (await post(svc, '/oauth/token', 'machine', { grant_type: 'client_credentials' })).json().access_token
  for (const token of [personal, machine]) {
    const claims = decodeJwt(token)
    t.notOk('acr' in claims || 'auth_time' in claims)
  }
  t.match(decodeJwt(fresh), { acr: '1', auth_time: Number })
})

t.test('asks the user for a second factor when a device wants it', async (t) => {
  const svc = await build(t)
  const ada = await (await ScriptedPerson.signedIn(svc)).addApp()
  const begun = (await post(svc, '/oauth/device/code', 'tv', { scope: 'openid orders:read', acr_values: '2' })).json()
  const confirm = await ada.press(await ada.go('/oauth/device'), { user_code: begun.user_code })
  const page = await ada.press(confirm, { confirm: 'yes' })
  t.equal(page.page, stepUp)
  const done = await ada.decide(await ada.press(page, { code: ada.code() }))
  t.match(done.answer.body, 'Your device is connected')
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const tokens = (await post(svc, '/oauth/token', 'tv', { grant_type, device_code: begun.device_code })).json()
  t.match(decodeJwt(tokens.access_token), { acr: '2' })
  t.match(decodeJwt(tokens.id_token), { acr: '2', amr: ['pwd', 'otp', 'mfa'] })
})
