// engine: none
import t from 'tap'
import { Device } from '../../support/device.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { handIn } from './mobile.ts'
import { buildSocial, mobileUri } from './visitor.ts'

/** The body of `POST /svc/token` with a new code of the provider. */
async function proofOf(svc: Parameters<typeof handIn>[0], more: object = {}) {
  const { code: authorization_code, ...fields } = await handIn(svc, 'grace')
  return { ...fields, provider: 'acme', authorization_code, ...more }
}

t.test('signs an app in at /svc/token with the code of a provider', async (t) => {
  const svc = await buildSocial(t, { acme: { redirect_uris: [mobileUri] } })
  const device = new Device(svc)
  const proof = await proofOf(svc)
  const answer = await device.token(proof)
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.headers['set-cookie'], undefined)
  t.match(answer.json(), { token: String, user: { email: 'grace@example.com' } })
  t.match((await svc.bearer(answer.json().token, 'GET', '/api/tokens')).json(), [{ name: 'Phone' }])
  const replay = await device.token(proof)
  t.equal(replay.statusCode, 400)
  t.equal(replay.json().code, 'provider_error')
  t.equal(await svc.database.prisma.personalAccessToken.count(), 1)
})

t.test('validates the fields of a provider sign-in before it asks the provider', async (t) => {
  const svc = await buildSocial(t, { acme: { redirect_uris: [mobileUri] } })
  const device = new Device(svc)
  for (const [more, field] of [
    [{ provider: 'unknown' }, 'provider'],
    [{ provider: '__proto__' }, 'provider'],
    [{ provider: ['acme'] }, 'provider'],
    [{ authorization_code: null }, 'authorization_code'],
    [{ redirect_uri: 'https://evil.example/cb' }, 'redirect_uri'],
    [{ redirect_uri: undefined }, 'redirect_uri'],
    [{ code_verifier: undefined }, 'code_verifier'],
    [{ nonce: undefined }, 'nonce'],
    [{ device_name: 'a\nb' }, 'device_name'],
    [{ device_name: undefined }, 'device_name'],
  ] as const) {
    const answer = await device.post('/svc/token', await proofOf(svc, more))
    t.equal(answer.statusCode, 422, JSON.stringify(more))
    t.same(Object.keys(answer.json().errors), [field])
  }
  t.equal(svc.acme.callsTo('/token').length, 0)
})

t.test('asks for a second factor after a provider sign-in, and continues with the challenge', async (t) => {
  const svc = await buildSocial(t, { acme: { redirect_uris: [mobileUri] } })
  const device = new Device(svc)
  const { id } = (await device.token(await proofOf(svc))).json().user
  const user = await svc.createUser({ email: 'factor@example.com' })
  const ada = await enableTwoFactor(svc, user)
  const { prisma } = svc.database
  await prisma.socialAccount.updateMany({ where: { userId: BigInt(id) }, data: { userId: BigInt(user.id) } })
  await prisma.personalAccessToken.deleteMany()
  const asked = await device.token(await proofOf(svc))
  t.equal(asked.statusCode, 422)
  t.same(Object.keys(asked.json().errors), ['code'])
  t.equal(await prisma.personalAccessToken.count(), 0)
  const { challenge } = asked.json()
  const answer = await device.post('/svc/token', { challenge, code: ada.code() })
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.json().user.id, user.id)
  const event = await prisma.event.findFirst({ where: { type: 'token_created' }, orderBy: { id: 'desc' } })
  t.match(JSON.parse(event?.data ?? ''), { channel: 'social', name: 'Phone' })
  const replay = await device.post('/auth/acme/token', { challenge, code: ada.code(1) })
  t.match(replay.json(), { errors: { challenge: [String] } }, 'at either address')
})

t.test('limits provider codes at /svc/token by rate_limits.token, together with /auth/{provider}/token', async (t) => {
  const settings = { rate_limits: { token: '2/1m' } }
  const svc = await buildSocial(t, { acme: { redirect_uris: [mobileUri] }, settings })
  const device = new Device(svc)
  const body = { provider: 'acme', authorization_code: 'x', redirect_uri: mobileUri }
  t.equal((await device.token(body)).statusCode, 422)
  t.equal((await device.post('/auth/acme/token', {})).statusCode, 422)
  t.equal((await device.token(body)).statusCode, 429)
})

t.test('answers 403 and 409 when the identity has no account that it may use', async (t) => {
  const acme = { redirect_uris: [mobileUri] }
  const closed = await buildSocial(t, { acme, settings: { registration: { enabled: false } } })
  const disabled = await new Device(closed).token(await proofOf(closed))
  t.equal(disabled.statusCode, 403, disabled.body)
  t.equal(disabled.json().code, 'registration_disabled')
  const svc = await buildSocial(t, { acme: { ...acme, trust_email: false } })
  await svc.createUser({ email: 'grace@example.com' })
  const taken = await new Device(svc).token(await proofOf(svc))
  t.equal(taken.statusCode, 409, taken.body)
  t.equal(taken.json().code, 'account_exists')
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})
