// engine: none
import { createRemoteJWKSet, customFetch, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import t from 'tap'
import { second } from '../../support/clock.ts'
import { token as issue, passwordClient } from '../../support/oauth.ts'
import { stopTime, travel } from '../../support/time.ts'
import { app, signedIn } from './sessions.ts'
import { api, buildGuarded, type Guarded } from './setup.ts'

const audience = 'https://orders.example.com'
const settings = {
  apis: {
    orders: { audience, scopes: ['orders:read', 'orders:write'], claims: ['email', 'name'] },
    mail: { audience: 'https://mail.example.com', scopes: ['mail:send'], algorithm: 'EdDSA' },
  },
}
const rules = [
  { paths: ['/mail/*'], audience: 'mail' },
  { paths: ['/plain'] },
  { hosts: ['api.example.com'], audience: 'orders' },
]

/** The token that the service receives. */
async function tokenOf(svc: Guarded, headers: Record<string, string>, path = '/orders/1'): Promise<string> {
  const answer = await svc.ask({ url: api + path, headers })
  return /^Bearer (.+)$/.exec(String(answer.headers.authorization ?? ''))?.[1] ?? ''
}

t.test('replaces an API token by an access token of the API, which its key set verifies', async (t) => {
  const svc = await buildGuarded(t, rules, settings)
  const user = await svc.createUser({ role: 'staff' })
  const authorization = `Bearer ${await svc.createToken(user, { abilities: ['orders:read', 'mail:send'] })}`
  const token = await tokenOf(svc, { authorization })
  const keys = createRemoteJWKSet(new URL('https://auth.example.com/.well-known/jwks.json'), {
    [customFetch]: async () => new Response((await svc.app.inject('/.well-known/jwks.json')).body),
  })
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: 'https://auth.example.com',
    audience,
    typ: 'at+jwt',
    algorithms: ['ES256'],
    currentDate: new Date(svc.clock.now()),
  })
  t.match(protectedHeader, { alg: 'ES256', typ: 'at+jwt', kid: String })
  t.match(payload, {
    sub: String(user.id),
    client_id: 'svc-guard',
    scope: 'orders:read',
    role: 'staff',
    email: user.email,
    name: user.name,
    jti: String,
  })
  t.equal((payload.exp ?? 0) - (payload.iat ?? 0), 60)
  const other = await tokenOf(svc, { authorization }, '/mail/1')
  t.match(decodeProtectedHeader(other), { alg: 'EdDSA' })
  t.match(decodeJwt(other), { aud: 'https://mail.example.com', scope: 'mail:send' })
  t.notHas(decodeJwt(other), { email: '' }, 'only the claims of this API')
  t.equal(await tokenOf(svc, { authorization }, '/plain'), '', 'a rule without audience')
})

t.test('gives sessions and tokens with * exactly the scopes of the API', async (t) => {
  const svc = await buildGuarded(t, rules, settings)
  const user = await svc.createUser({ verified: false })
  const cookie = await signedIn(svc, user.email)
  const all = { scope: 'orders:read orders:write' }
  const bySession = decodeJwt(await tokenOf(svc, { cookie, origin: app }))
  t.match(bySession, all)
  t.notHas(bySession, { email: '' }, 'no unverified address')
  t.match(decodeJwt(await tokenOf(svc, { authorization: `Bearer ${await svc.createToken(user)}` })), all)
  const none = await svc.createToken(user, { abilities: ['other'] })
  t.notHas(decodeJwt(await tokenOf(svc, { authorization: `Bearer ${none}` })), { scope: '' })
})

t.test('omits abilities for which guard.step_up requires a stronger sign-in', async (t) => {
  stopTime(t)
  const svc = await buildGuarded(t, rules, {
    ...settings,
    guard: { step_up: [{ ability: 'orders:write', acr: '2' }] },
    clients: [{ ...passwordClient, scopes: ['orders:read', 'orders:write'] }],
  })
  const user = await svc.createUser()
  const scopes = ['orders:read', 'orders:write']
  const grant = { grant_type: 'password', username: user.email, password: 'correct horse', scope: scopes.join(' ') }
  const { access_token } = (await issue(svc, passwordClient.client_id, grant)).json()
  t.match(decodeJwt(access_token), { acr: '1', scope: 'orders:read orders:write' })
  const apiToken = await svc.createToken(user, { abilities: scopes })
  for (const [bearer, abilities] of [
    [access_token, 'orders:read'],
    [apiToken, 'orders:read orders:write'],
  ]) {
    const { headers } = await svc.ask({ headers: { authorization: `Bearer ${bearer}` } })
    t.equal(headers['svc-abilities'], abilities)
    t.equal(decodeJwt(String(headers.authorization).slice('Bearer '.length)).scope, abilities)
  }
})

t.test('reuses a token for half of its lifetime, unless abilities or role change', async (t) => {
  const svc = await buildGuarded(t, rules, settings)
  const user = await svc.createUser()
  const plain = await svc.createToken(user, { abilities: ['orders:read'] })
  const authorization = `Bearer ${plain}`
  const first = await tokenOf(svc, { authorization })
  travel(svc, 29 * second)
  t.equal(await tokenOf(svc, { authorization }), first)
  const id = BigInt(plain.split('|')[0] ?? '')
  const { prisma } = svc.database
  await prisma.personalAccessToken.update({ where: { id }, data: { abilities: '["orders:write"]' } })
  t.match(decodeJwt(await tokenOf(svc, { authorization })), { scope: 'orders:write' })
  await prisma.user.update({ where: { id: BigInt(user.id) }, data: { role: 'admin' } })
  t.match(decodeJwt(await tokenOf(svc, { authorization })), { role: 'admin' })
  travel(svc, 2 * second)
  await prisma.personalAccessToken.update({ where: { id }, data: { abilities: '["orders:read"]' } })
  await prisma.user.update({ where: { id: BigInt(user.id) }, data: { role: 'user' } })
  const later = await tokenOf(svc, { authorization })
  t.not(later, first)
  t.match(decodeJwt(later), { scope: 'orders:read', role: 'user' })
})

t.test('issues no token that outlives the credential it replaces', async (t) => {
  const svc = await buildGuarded(t, rules, settings)
  const expiresAt = new Date(Math.floor(svc.clock.now() / 1000) * 1000 + 20 * second)
  const authorization = `Bearer ${await svc.createToken(await svc.createUser(), { expiresAt })}`
  t.equal(decodeJwt(await tokenOf(svc, { authorization })).exp, expiresAt.getTime() / 1000)
})

t.test('issues tokens that svc and the guard reject as bearer tokens', async (t) => {
  const svc = await buildGuarded(t, rules, settings)
  const authorization = `Bearer ${await svc.createToken(await svc.createUser())}`
  const token = await tokenOf(svc, { authorization })
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401)
  t.equal((await svc.ask({ headers: { authorization: `Bearer ${token}` } })).statusCode, 401)
})

t.test('sends no token for public rules or with rejections', async (t) => {
  const svc = await buildGuarded(t, [{ paths: ['/public'], access: 'public' }, ...rules], settings)
  const authorization = `Bearer ${await svc.createToken(await svc.createUser())}`
  t.equal(await tokenOf(svc, { authorization }, '/public'), '')
  t.equal(await tokenOf(svc, { authorization: 'Bearer wrong' }), '')
})
