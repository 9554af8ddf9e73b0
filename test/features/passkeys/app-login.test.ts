import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { minute, second } from '../../support/clock.ts'
import { Device } from '../../support/device.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { buildPasskeyApp, eventsOf, forgedCeremonies, refusal, texts, Visitor, withPasskey } from './visitor.ts'

const preferred = { passkeys: { user_verification: 'preferred' } }

t.test('signs an app in by passkey, without cookies, and returns an API token', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator } = await withPasskey(svc)
  const device = new Device(svc)
  const begun = await device.post('/svc/passkeys/options')
  t.equal(begun.headers['set-cookie'], undefined)
  t.match(begun.headers['cache-control'], 'no-store')
  const { options, challenge_token } = begun.json()
  t.match(options, { rpId: 'localhost', userVerification: 'required', challenge: String })
  t.equal(options.allowCredentials, undefined, 'reveals nothing about accounts')
  t.not(challenge_token, options.challenge)
  const credential = authenticator.assert(options)
  const answer = await device.token({ credential, challenge_token, device_name: ' Phone ' })
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.headers['set-cookie'], undefined)
  t.same(Object.keys(answer.json()).sort(), ['token', 'user'])
  t.equal(answer.json().user.id, user.id)
  const { token } = answer.json()
  t.match((await svc.bearer(token, 'GET', '/api/tokens')).json(), [{ name: 'Phone', abilities: ['*'] }])
  t.match((await eventsOf(svc, 'token_created')).at(-1), { userId: user.id, data: { channel: 'passkey' } })
  t.match(await svc.database.prisma.passkey.findFirst(), { counter: 2n, lastUsedAt: new Date(svc.clock.now()) })
  t.equal((await svc.bearer(token, 'POST', '/logout')).statusCode, 200)
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401)
})

t.test('accepts a challenge token once, on any replica', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator } = await withPasskey(svc, new Authenticator())
  const settings = { app: { frontend_url: 'http://localhost:5173' } }
  const other = await buildTestApp(t, { settings, database: svc.where, clock: svc.clock })
  const { options, challenge_token } = await new Device(svc).begin()
  const body = { credential: authenticator.assert(options), challenge_token }
  const devices = [new Device(svc), new Device(other)]
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => devices[n % 2]?.token(body)))
  t.equal(answers.filter((answer) => answer?.statusCode === 200).length, 1)
  for (const answer of answers) {
    if (answer?.statusCode !== 200) t.strictSame(answer?.json(), refusal(texts.loginExpired))
  }
  t.equal(await svc.database.prisma.personalAccessToken.count(), 1)
  t.strictSame((await new Device(svc).token(body)).json(), refusal(texts.loginExpired))
})

t.test('binds a challenge to its token, its purpose and five minutes', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator, owner, guest } = await withPasskey(svc, new Authenticator())
  const device = new Device(svc)
  const [one, two] = [await device.begin(), await device.begin()]
  const mixed = await device.token({
    credential: authenticator.assert(one.options),
    challenge_token: two.challenge_token,
  })
  t.strictSame(mixed.json(), refusal(texts.refused), "another sign-in's challenge")
  const again = await device.token({
    credential: authenticator.assert(two.options),
    challenge_token: two.challenge_token,
  })
  t.strictSame(again.json(), refusal(texts.loginExpired), 'a failure uses the challenge up')

  for (const ceremony of ['login', 'confirm', 'register'] as const) {
    const options = await (ceremony === 'login' ? guest : owner).options(ceremony)
    const { challenge_token } = await device.begin()
    const foreign = await device.token({ credential: authenticator.assert(options), challenge_token })
    t.strictSame(foreign.json(), refusal(texts.refused), `the challenge of a session: ${ceremony}`)
  }
  const cookie = await guest.browser.cookie('svc_session')
  const options = await guest.options('login')
  const sessionId = String(cookie).split('.')[0]
  const bySession = await device.token({ credential: authenticator.assert(options), challenge_token: sessionId })
  t.strictSame(bySession.json(), refusal(texts.loginExpired), 'the id of a session is no challenge token')
  const { options: own } = await device.begin()
  const inBrowser = new Visitor(svc.browser())
  await inBrowser.options('login')
  t.strictSame((await inBrowser.answer('login', authenticator.assert(own))).json(), refusal(texts.refused))

  for (const challenge_token of ['x', '0'.repeat(43), '__proto__']) {
    const { options } = await device.begin()
    const unknown = await device.token({ credential: authenticator.assert(options), challenge_token })
    t.strictSame(unknown.json(), refusal(texts.loginExpired), challenge_token)
  }
  const [late, inTime] = [await device.begin(), await device.begin()]
  const send = ({ options, challenge_token }: typeof late) =>
    device.token({ credential: authenticator.assert(options), challenge_token })
  svc.clock.advance(6 * minute - second)
  t.equal((await send(inTime)).statusCode, 200)
  svc.clock.advance(second)
  t.strictSame((await send(late)).json(), refusal(texts.loginExpired))
  t.equal(await svc.database.prisma.personalAccessToken.count(), 1)
})

t.test('rejects forged, unknown and cloned passkeys', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator } = await withPasskey(svc)
  const device = new Device(svc)
  for (const [name, forgery] of Object.entries(forgedCeremonies)) {
    const answer = await device.passkey(authenticator, forgery)
    t.equal(answer.statusCode, 422, name)
    t.strictSame(answer.json(), refusal(texts.refused), name)
  }
  const unlisted = { origin: `android:apk-key-hash:${'A'.repeat(43)}` }
  t.strictSame((await device.passkey(authenticator, unlisted)).json(), refusal(texts.refused), 'an unknown app')
  t.strictSame((await device.passkey(new Authenticator())).json(), refusal(texts.unknown, 'unknown_passkey'))
  t.strictSame((await device.passkey(authenticator, { counter: 1 })).json(), refusal(texts.refused), 'a clone')
  const events = await eventsOf(svc, 'passkey_failed')
  t.match(events.at(-1), { userId: user.id, data: { ceremony: 'token', reason: 'counter' } })
  await svc.database.prisma.user.updateMany({ data: { disabledAt: new Date(svc.clock.now()) } })
  t.strictSame((await device.passkey(authenticator)).json(), refusal(texts.disabled))
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('rejects users with an unverified address where it is required', async (t) => {
  const svc = await buildPasskeyApp(t, { registration: { require_verified_email: true } })
  const { authenticator } = await withPasskey(svc)
  await svc.database.prisma.user.updateMany({ data: { emailVerifiedAt: null } })
  const answer = await new Device(svc).passkey(authenticator)
  t.equal(answer.statusCode, 422)
  const text = 'Your email address is not verified.'
  t.strictSame(answer.json(), { message: text, code: 'email_unverified', errors: { email: [text] } })
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('validates the fields of a passkey sign-in', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator } = await withPasskey(svc, new Authenticator())
  const device = new Device(svc)
  const credential = authenticator.assert({ challenge: 'x' })
  const required = (name: string) => [`The ${name} field is required.`]
  for (const [body, errors] of [
    [{ credential }, { challenge_token: required('challenge token') }],
    [{ credential, challenge_token: 5 }, { challenge_token: ['The challenge token field must be a string.'] }],
    [
      { credential, device_name: null },
      { challenge_token: required('challenge token'), device_name: required('device name') },
    ],
    [{ credential: 'x', challenge_token: 'x' }, { credential: ['The credential field must be an array.'] }],
    [{ credential: {}, challenge_token: 'x' }, { credential: [texts.loginExpired] }],
    [
      { credential: null, challenge_token: 'x' },
      { email: required('email'), password: required('password') },
    ],
    [{ challenge_token: 'x' }, { email: required('email'), password: required('password') }],
  ] as const) {
    const answer = await device.token(body)
    t.equal(answer.statusCode, 422, JSON.stringify(body).slice(0, 60))
    t.strictSame(answer.json().errors, errors)
  }
  for (const [device_name, text] of [
    ['x'.repeat(256), 'must not be greater than 255 characters'],
    ['a\nb', 'contains characters that are not allowed'],
    ['a\u0000b', 'contains characters that are not allowed'],
    ['a\u202eb', 'contains characters that are not allowed'],
    [['x'], 'must be a string'],
  ] as const) {
    const { options, challenge_token } = await device.begin()
    const body = { credential: authenticator.assert(options), challenge_token }
    const answer = await device.token({ ...body, device_name })
    t.strictSame(answer.json().errors, { device_name: [`The device name field ${text}.`] })
    t.equal((await device.token(body)).statusCode, 200, 'does not use the challenge up')
  }
  const more = { abilities: ['admin'], expires_at: '2999-01-01', user_id: 999, role: 'admin', email: 'x@example.com' }
  const answer = await device.passkey(authenticator, {}, more)
  t.equal(answer.statusCode, 200, answer.body)
  const [token] = (await svc.bearer(answer.json().token, 'GET', '/api/tokens')).json().slice(-1)
  t.match(token, { abilities: ['*'], expires_at: null, tokenable_id: answer.json().user.id })
})

t.test('counts a passkey with user verification as both factors, and asks for a code without', async (t) => {
  const svc = await buildPasskeyApp(t, preferred)
  const { user, authenticator } = await withPasskey(svc, new Authenticator())
  const ada = await enableTwoFactor(svc, user)
  const device = new Device(svc)
  t.equal((await device.passkey(authenticator)).statusCode, 200)
  await svc.database.prisma.personalAccessToken.deleteMany()

  const once = { userVerified: false }
  const asked = await device.passkey(authenticator, once)
  t.equal(asked.statusCode, 422, asked.body)
  t.match(asked.json(), { code: 'two_factor_required', errors: { code: [String] }, challenge: String })
  t.same(Object.keys(asked.json().errors), ['code'])
  const { challenge } = asked.json()
  t.match((await device.token({ challenge, code: ada.wrong() })).json(), { errors: { code: [String] } })
  t.match((await device.token({ challenge })).json(), { errors: { code: [String] } })
  t.match((await device.token({ challenge, recovery_code: 'x' })).json(), { errors: { recovery_code: [String] } })
  for (const odd of ['x', `${challenge.slice(0, -4)}AAAA`, 'a.b.c', '__proto__'])
    t.match((await device.token({ challenge: odd, code: ada.code() })).json(), { errors: { challenge: [String] } }, odd)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
  const answer = await device.token({ challenge, code: ada.code(), device_name: 'Another', user_id: 1 })
  t.equal(answer.statusCode, 200, answer.body)
  t.match((await svc.bearer(answer.json().token, 'GET', '/api/tokens')).json(), [{ name: 'Phone' }])
  t.match((await eventsOf(svc, 'token_created')).at(-1), { data: { channel: 'passkey' } })
  t.equal((await device.token({ challenge, code: ada.code(1) })).statusCode, 422, 'a challenge works once')

  svc.clock.advance(minute)
  const wrong = await device.passkey(authenticator, once, { code: ada.wrong() })
  t.match(wrong.json(), { errors: { code: [String] }, challenge: String }, 'the user can try again')
  const together = await device.passkey(authenticator, once, { code: ada.code() })
  t.equal(together.statusCode, 200, 'a code may come with the passkey')
  const late = (await device.passkey(authenticator, once)).json().challenge
  svc.clock.advance(10 * minute)
  t.match((await device.token({ challenge: late, code: ada.code() })).json(), { errors: { challenge: [String] } })
})

t.test('completes a challenge once, also with 20 parallel requests', async (t) => {
  const svc = await buildPasskeyApp(t, { ...preferred, rate_limits: { two_factor: null } })
  const { user, authenticator } = await withPasskey(svc, new Authenticator())
  const ada = await enableTwoFactor(svc, user)
  const device = new Device(svc)
  const { challenge } = (await device.passkey(authenticator, { userVerified: false })).json()
  const codes = [ada.recoveryCodes[0], ada.recoveryCodes[1]]
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => device.token({ challenge, recovery_code: codes[n % 2] })),
  )
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 1)
})

t.test('limits second factors of apps by account', async (t) => {
  const svc = await buildPasskeyApp(t, { ...preferred, rate_limits: { two_factor: '3/1m' } })
  const { user, authenticator } = await withPasskey(svc, new Authenticator())
  const ada = await enableTwoFactor(svc, user)
  const device = new Device(svc)
  const statuses = []
  for (let tries = 0; tries < 4; tries++) {
    const { challenge } = (await device.passkey(authenticator, { userVerified: false })).json()
    statuses.push((await device.token({ challenge, code: ada.wrong() })).statusCode)
  }
  t.same(statuses, [422, 422, 422, 429])
})

t.test('rejects pages of other origins, and passkeys that are disabled', async (t) => {
  const svc = await buildPasskeyApp(t)
  const device = new Device(svc)
  for (const url of ['/svc/passkeys/options', '/svc/token']) {
    for (const [site, origin] of [
      ['cross-site', 'https://evil.example'],
      ['same-site', 'http://localhost:4000'],
      ['cross-site', 'null'],
    ] as const) {
      const answer = await device.post(url, {}, { 'sec-fetch-site': site, origin })
      t.equal(answer.statusCode, 419, `${url} from ${origin}`)
      t.equal(answer.headers['access-control-allow-origin'], undefined)
      t.equal(answer.headers['set-cookie'], undefined)
    }
    const own = await device.post(url, {}, { 'sec-fetch-site': 'same-site', origin: 'http://localhost:5173' })
    t.not(own.statusCode, 419, `${url} from the front end`)
  }
  t.equal(await svc.database.prisma.passkeyChallenge.count(), 1)
  const off = await buildPasskeyApp(t, { passkeys: { enabled: false } })
  t.equal((await new Device(off).post('/svc/passkeys/options')).statusCode, 404)
  const answer = await new Device(off).token({ credential: {}, challenge_token: 'x' })
  t.strictSame(answer.json(), refusal('Passkeys are disabled.'))
})
