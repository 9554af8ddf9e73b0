import t from 'tap'
import { buildSocial, frontEnd, Visitor } from '../features/social/visitor.ts'
import { Collector } from '../support/collector.ts'
import { oauthSettings, Person, post, redeem, refresh, request, response, secret, verifier } from '../support/oauth.ts'
import { challenged, enableTwoFactor } from '../support/totp.ts'

// Every sign-in here costs a password check.
/** The forms in which a secret could appear. */
const formsOf = (text: string): string[] => [text, encodeURIComponent(text), Buffer.from(text).toString('base64')]

t.test('keeps secrets of every journey out of logs and traces', async (t) => {
  const collector = await Collector.start(t)
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
  const settings = { ...oauthSettings, two_factor: { confirm_password: true } }
  const svc = await buildSocial(t, { settings, traces: true })
  const secrets = new Map<string, string>([
    ['the password', 'correct horse'],
    ['the client secret', secret],
    ['the code verifier', verifier],
    ['the secret of svc', 'the-secret-of-the-tests-is-32-bytes-long'],
  ])
  const keep = (name: string, text: string | null | undefined) => {
    t.ok(text && text.length > 5, name)
    secrets.set(name, text ?? '')
  }

  const person = new Person(svc, (await svc.createUser()).email)
  const state = 'a-random-state-of-the-test'
  const out = response(
    await person.allow(request('web', { state, nonce: 'a-nonce-of-its-own', scope: 'openid orders:read' })),
  )
  keep('the state', state)
  keep('the authorization code', out.code)
  const tokens = (await redeem(svc, 'web', out.code ?? '')).json()
  keep('the access token', tokens.access_token)
  keep('its signature', tokens.access_token.split('.')[2])
  keep('the refresh token', tokens.refresh_token)
  keep('the id token', tokens.id_token?.split('.')[2])
  keep('the next refresh token', (await refresh(svc, 'web', tokens.refresh_token)).json().refresh_token)
  t.equal((await svc.bearer(tokens.access_token, 'GET', '/api/user')).statusCode, 200)
  await svc.bearer(`${tokens.access_token}x`, 'GET', '/api/user')
  await post(svc, '/oauth/introspect', 'watcher', { token: tokens.access_token })
  await post(svc, '/oauth/revoke', 'web', { token: tokens.refresh_token })
  await redeem(svc, 'web', out.code ?? '')
  await person.go(`/oauth/logout?id_token_hint=${tokens.id_token}&state=${state}`)
  await svc.app.inject(`/nowhere/${out.code}?access_token=${tokens.access_token}`)
  const device = (await post(svc, '/oauth/device/code', 'tv', {})).json()
  keep('the device code', device.device_code)
  keep('the user code', device.user_code)
  await svc.app.inject(`/oauth/device?user_code=${device.user_code}`)

  const visitor = new Visitor(svc)
  const there = await visitor.begin()
  for (const name of ['state', 'nonce', 'code_challenge']) keep(`acme's ${name}`, there.searchParams.get(name))
  const back = await visitor.allow(there, 'grace')
  keep("acme's code", back.searchParams.get('code'))
  t.equal((await visitor.back(back)).headers.location, `${frontEnd}/`)
  t.equal((await visitor.back(back)).headers.location, frontEnd, 'signed in already')

  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  const own = {
    name: 'Ada',
    email: 'ada@example.org',
    password: 'a long Password',
    password_confirmation: 'a long Password',
  }
  t.equal((await spa.post('/register', own)).statusCode, 201)
  keep('the new password', own.password)
  const [welcome] = await svc.mailbox.to(own.email)
  const link = new URL(/http:\S+\/email\/verify\/\S+/.exec(welcome?.text ?? '')?.[0] ?? '')
  keep("the link's signature", link.searchParams.get('signature'))
  keep("the link's hash", link.pathname.split('/').at(-1))
  t.equal((await spa.get(link.pathname + link.search)).statusCode, 204)
  await spa.get(`${link.pathname}x${link.search}x`)
  await svc.app.inject({ method: 'POST', url: '/forgot-password', payload: { email: own.email } })
  await spa.post('/forgot-password', { email: own.email })
  const resetToken = await svc.mailbox.find(own.email, /\/reset-password\/(\w+)/)
  keep('the reset token', resetToken)
  await svc.app.inject(`/reset-password/${resetToken}?email=${own.email}`)
  const changed = {
    token: resetToken,
    email: own.email,
    password: 'another long one',
    password_confirmation: 'another long one',
  }
  t.equal((await spa.post('/reset-password', changed)).statusCode, 200)
  keep('the password after it', changed.password)

  const ada = await enableTwoFactor(svc)
  keep('the second factor', ada.secret)
  for (const code of ada.recoveryCodes.slice(0, 2)) keep('a recovery code', code)
  const waiting = await challenged(svc, ada.email)
  await waiting.post('/two-factor-challenge', { recovery_code: `${ada.recoveryCodes[1]}x` })
  t.equal((await waiting.post('/two-factor-challenge', { recovery_code: ada.recoveryCodes[0] })).statusCode, 204)
  for (const browser of [spa, waiting, ada.browser, person.plain.browser, visitor.browser]) {
    for (const cookie of ['svc_session', 'XSRF-TOKEN', 'svc_browser']) {
      const value = await browser.cookie(cookie)
      if (value) keep(`${cookie} ${secrets.size}`, value.split('.')[0])
    }
  }

  await svc.app.close()
  const lines = svc.logs.join('\n')
  t.ok(svc.logs.length > 50 && collector.spans.length > 50 && secrets.size > 30)
  for (const [name, text] of secrets) {
    for (const form of formsOf(text)) {
      t.notOk(lines.includes(form), `${name} is not in the log`)
      t.notOk(collector.text.includes(form), `${name} is not in the traces`)
    }
  }
  t.notMatch(lines, /"(authorization|cookie|set-cookie|headers|body|query|url)":/i, 'no part of a raw request')
  t.notMatch(lines, /\?(code|state|token|signature)=|&(code|state|token|signature)=/)
})
