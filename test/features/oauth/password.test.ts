import { createLocalJWKSet, jwtVerify } from 'jose'
import t from 'tap'
import { hashPassword } from '../../../src/platform/crypto/password.ts'
import { strongPassword } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { untilWaiting } from '../../support/hold.ts'
import { stopTime } from '../../support/time.ts'
import { enableTwoFactor } from '../../support/totp.ts'

const secret = 'a-secret-that-is-long-enough'
const password = 'correct horse'
const scopes = { 'orders:read': 'See your orders', 'orders:write': 'Change your orders' }
const client = (client_id: string, more: object = {}) => ({
  client_id,
  type: 'confidential',
  secret,
  grants: ['password', 'refresh_token'],
  scopes: ['orders:read'],
  ...more,
})
const clients = [
  client('phone'),
  client('once', { grants: ['password'], scopes: [] }),
  client('machine', { grants: ['client_credentials'] }),
]

const build = (t: Parameters<typeof buildTestApp>[0], more: object = {}) =>
  buildTestApp(t, { settings: { scopes, clients, ...more }, clock: stopTime(t) })

const post = ({ app }: TestApp, path: string, fields: Record<string, string>, client_id = 'phone') =>
  app.inject({ method: 'POST', url: path, payload: { client_id, client_secret: secret, ...fields } })

const ask = (svc: TestApp, fields: Record<string, string>, client_id?: string) =>
  post(svc, '/oauth/token', { grant_type: 'password', password, ...fields }, client_id)

const status = async ({ bearer }: TestApp, token: string) => (await bearer(token, 'GET', '/api/user')).statusCode

const incorrect = { error: 'invalid_grant', error_description: 'The user credentials were incorrect.' }

t.test('issues tokens for a password, and an ID token on request', async (t) => {
  const svc = await build(t)
  const { email, id } = await svc.createUser()
  const answer = await ask(svc, { username: ` ${email.toUpperCase()} ` })
  t.equal(answer.statusCode, 200, answer.body)
  t.match(answer.json(), { token_type: 'Bearer', expires_in: 900, scope: 'orders:read', refresh_token: String })
  t.equal(answer.headers['cache-control'], 'no-store')
  t.equal(answer.headers['set-cookie'], undefined)
  t.notOk('id_token' in answer.json())
  t.equal(await status(svc, answer.json().access_token), 200)

  const signed = (await ask(svc, { username: email, scope: 'openid email orders:read orders:read' })).json()
  const jwks = createLocalJWKSet((await svc.app.inject('/.well-known/jwks.json')).json())
  const issuer = 'http://localhost:8000'
  const access = await jwtVerify(signed.access_token, jwks, { typ: 'at+jwt', issuer, audience: issuer })
  t.match(access.payload, { sub: String(id), client_id: 'phone', scope: 'openid email orders:read', gid: String })
  const idToken = await jwtVerify(signed.id_token, jwks, { issuer, audience: 'phone' })
  t.equal(idToken.payload.sub, String(id))
  t.ok(Number.isInteger(idToken.payload.auth_time))
  const userinfo = await svc.bearer(signed.access_token, 'GET', '/oauth/userinfo')
  t.same(userinfo.json(), { sub: String(id), email, email_verified: true })

  const fresh = await post(svc, '/oauth/token', { grant_type: 'refresh_token', refresh_token: signed.refresh_token })
  t.equal(await status(svc, fresh.json().access_token), 200)
  const other = await post(
    svc,
    '/oauth/token',
    { grant_type: 'refresh_token', refresh_token: fresh.json().refresh_token },
    'once',
  )
  t.equal(other.statusCode, 400, 'only its client can use a refresh token')
  const once = (await ask(svc, { username: email }, 'once')).json()
  t.equal(once.scope, 'openid')
  t.notOk('refresh_token' in once)

  const events = await svc.database.prisma.event.findMany({ where: { type: 'login' } })
  t.match(JSON.parse(events[0]?.data ?? ''), { method: 'password_grant', client_id: 'phone' })
  const told = [...svc.logs, ...events.map(({ data }) => data)].join()
  for (const hidden of [password, secret, signed.access_token, signed.refresh_token]) t.notOk(told.includes(hidden))
})

t.test('answers the same to every failed sign-in', async (t) => {
  const svc = await build(t, { rate_limits: { login: null } })
  const known = await svc.createUser()
  const social = await svc.createUser({ password: null })
  const disabled = await svc.createUser()
  const where = { id: BigInt(disabled.id) }
  await svc.database.prisma.user.update({ where, data: { disabledAt: new Date() } })
  const odd = ['unknown@example.com', 'unknown', 'a\0@example.com', '\ud800', `${'x'.repeat(40_000)}@example.com`]
  const attempts = [
    ...odd.map((username) => ({ username })),
    { username: known.email, password: 'wrong' },
    { username: known.email, password: `${password}\0` },
    { username: known.email, password: `${password} ` },
    { username: social.email },
    { username: social.email, password: 'null' },
    { username: disabled.email },
  ]
  for (const fields of attempts) {
    const answer = await ask(svc, fields)
    t.equal(answer.statusCode, 400, JSON.stringify(fields).slice(0, 80))
    t.same(answer.json(), incorrect)
  }
  t.equal(await svc.database.prisma.oauthRecord.count(), 0, 'and leaves no records')
  for (const fields of [{ username: '' }, { username: known.email, password: '' }]) {
    t.match((await ask(svc, fields)).json(), { error: 'invalid_request' })
  }
})

t.test('accepts only clients with the grant, and only their scopes', async (t) => {
  const svc = await build(t)
  const { email: username } = await svc.createUser()
  const refused = await ask(svc, { username }, 'machine')
  t.equal(refused.statusCode, 400)
  t.match(refused.json(), { error: 'unauthorized_client' })
  for (const scope of ['orders:write', 'openid orders:write', 'orders:read\u00a0x']) {
    const answer = await ask(svc, { username, scope })
    t.equal(answer.statusCode, 400, scope)
    t.match(answer.json(), { error: 'invalid_scope' })
  }
  const wrong = await ask(svc, { username, client_secret: 'wrong' })
  t.equal(wrong.statusCode, 401)
  const machine = await post(svc, '/oauth/token', { grant_type: 'client_credentials' }, 'machine')
  t.equal(machine.statusCode, 200, 'a listed scope still works')
})

t.test('limits failures together with all other entry points', async (t) => {
  const svc = await build(t)
  const { email: username } = await svc.createUser()
  for (let i = 0; i < 5; i++) t.equal((await ask(svc, { username, password: 'wrong' })).statusCode, 400)
  const answer = await ask(svc, { username })
  t.equal(answer.statusCode, 429, answer.body)
  t.match(answer.json(), { error: 'temporarily_unavailable', error_description: /^Too many login attempts/ })
  t.match(answer.headers['retry-after'], /^\d+$/)
  t.equal((await svc.browser().signIn(username)).statusCode, 429)
  svc.clock.advance(61_000)
  t.equal((await ask(svc, { username })).statusCode, 200)
})

t.test('requires otp from a user with a second factor, once per code', async (t) => {
  const svc = await build(t)
  const { email: username, code, wrong } = await enableTwoFactor(svc)
  const otpError = 'The provided two factor authentication code was invalid.'
  for (const fields of [{ username }, { username, otp: '' }, { username, otp: wrong() }]) {
    const answer = await ask(svc, fields)
    t.equal(answer.statusCode, 400)
    t.same(answer.json(), { error: 'invalid_grant', error_description: otpError })
  }
  t.same((await ask(svc, { username, password: 'wrong', otp: code() })).json(), incorrect)
  const otp = code()
  const answers = await Promise.all([0, 1, 2].map(() => ask(svc, { username, otp })))
  t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 400, 400])
  t.equal(await svc.database.prisma.oauthRecord.count({ where: { kind: 'Grant' } }), 1)
})

t.test('rejects an unverified address where verification is required', async (t) => {
  const svc = await build(t, { registration: { require_verified_email: true } })
  const { email: username } = await svc.createUser({ verified: false })
  const answer = await ask(svc, { username })
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), { error: 'invalid_grant', error_description: 'Your email address is not verified.' })
  t.equal((await ask(svc, { username: (await svc.createUser()).email })).statusCode, 200)
})

t.test('issues nothing when the password changes during the check', async (t) => {
  const svc = await build(t)
  const { email: username } = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(username)
  const { hashing } = svc.app
  const verify = hashing.verify.bind(hashing)
  hashing.verify = async (...check) => {
    hashing.verify = verify
    const fits = await verify(...check)
    const body = { current_password: password, password: strongPassword, password_confirmation: strongPassword }
    t.equal((await browser.put('/user/password', body)).statusCode, 200)
    return fits
  }
  const answer = await ask(svc, { username })
  t.same(answer.json(), incorrect)
  t.equal(await svc.database.prisma.oauthRecord.count({ where: { kind: { in: ['Grant', 'RefreshToken'] } } }), 0)
  t.equal((await ask(svc, { username, password: strongPassword })).statusCode, 200)
})

t.test("waits for concurrent revocations of the account's grants", async (t) => {
  const svc = await build(t)
  const { email: username, id } = await svc.createUser()
  const where = { id: BigInt(id) }
  let asked: ReturnType<typeof ask> | undefined
  await svc.database.transaction(async (tx) => {
    if (svc.database.engine === 'postgresql')
      await tx.$queryRaw`SELECT 1 FROM users WHERE id = ${where.id} FOR NO KEY UPDATE`
    await tx.oauthRecord.deleteMany()
    // The password is still valid for it.
    asked = ask(svc, { username })
    await untilWaiting(svc, asked)
    await tx.user.update({ where, data: { password: hashPassword(strongPassword) } })
  })
  t.same((await asked)?.json(), incorrect)
  t.equal(await svc.database.prisma.oauthRecord.count(), 0)
})

t.test('waits for a reset that has deleted the grants but not yet set the password', async (t) => {
  const svc = await build(t)
  const { email: username } = await svc.createUser()
  const sameOrigin = { 'sec-fetch-site': 'same-origin' }
  await svc.browser().post('/forgot-password', { email: username }, sameOrigin)
  const token = await svc.mailbox.find(username, /reset-password\/([0-9a-f]{64})/)
  const { sessionListener } = svc.app
  const ended = sessionListener.ended.bind(sessionListener)
  let calls = 0
  let asked: ReturnType<typeof ask> | undefined
  sessionListener.ended = async (...facts) => {
    await ended(...facts)
    // The first call comes before the deletion.
    if (++calls !== 2) return
    asked = ask(svc, { username })
    await untilWaiting(svc, asked)
  }
  const form = { token, email: username, password: strongPassword, password_confirmation: strongPassword }
  t.equal((await svc.browser().post('/reset-password', form, sameOrigin)).statusCode, 200)
  t.ok(asked)
  t.same((await asked)?.json(), incorrect)
  t.equal(await svc.database.prisma.oauthRecord.count({ where: { kind: 'Grant' } }), 0)
})

t.test('revokes the tokens when the user is deleted', async (t) => {
  const svc = await build(t)
  const { prisma } = svc.database
  const { email: username, id } = await svc.createUser()
  const { access_token, refresh_token } = (await ask(svc, { username })).json()
  const where = { id: BigInt(id) }
  await prisma.user.update({ where, data: { disabledAt: new Date() } })
  t.equal(await status(svc, access_token), 401)
  const refresh = { grant_type: 'refresh_token', refresh_token }
  t.equal((await post(svc, '/oauth/token', refresh)).statusCode, 400)
  await prisma.user.update({ where, data: { disabledAt: null } })
  t.equal(await status(svc, access_token), 200)
  await prisma.user.delete({ where })
  t.equal(await status(svc, access_token), 401)
  t.equal((await post(svc, '/oauth/token', refresh)).statusCode, 400)
})
