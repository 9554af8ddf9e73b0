// engine: none
import { createHmac, createPublicKey } from 'node:crypto'
import t from 'tap'
import type { TestApp } from '../../../support/app.ts'
import { assertion, buildServer, credentials, issuer, machine, newKey, post, seconds, secret } from './parties.ts'

const [es256, rs256, ps256, ed25519, stranger] = await Promise.all([
  newKey('ES256'),
  newKey('RS256'),
  newKey('PS256'),
  newKey('EdDSA'),
  newKey('ES256'),
])
const jwks = { keys: [es256, rs256, ps256, ed25519].map(({ jwk }) => jwk) }
const clients = [
  machine('robot', { jwks }),
  machine('other', { jwks }),
  machine('plain'),
  machine('both', { secret, jwks, token_endpoint_auth_method: 'private_key_jwt' }),
]

const ask = (svc: TestApp, fields: Record<string, string>, path = '/oauth/token') =>
  post(svc, path, { ...credentials, ...fields })

t.test('accepts private_key_jwt with every algorithm, at every endpoint', async (t) => {
  const svc = await buildServer(t, clients)
  for (const key of [es256, rs256, ps256, ed25519]) {
    t.equal((await ask(svc, await assertion(key, 'robot'))).statusCode, 200, String(key.jwk.alg))
  }
  t.equal((await ask(svc, await assertion(es256, 'both'))).statusCode, 200)
  const withSecret = await ask(svc, { client_id: 'both', client_secret: secret })
  t.equal(withSecret.statusCode, 401, 'only one method at a time')
  for (const aud of [issuer, `${issuer}/oauth/token`, [issuer], [`${issuer}/oauth/token`]]) {
    t.equal((await ask(svc, await assertion(es256, 'robot', { aud }))).statusCode, 200, String(aud))
  }
  const { access_token } = (await ask(svc, await assertion(es256, 'robot'))).json()
  const token = { token: access_token }
  const shown = await post(svc, '/oauth/introspect', { ...token, ...(await assertion(es256, 'robot')) })
  t.equal(shown.json().active, true)
  const revoked = await post(svc, '/oauth/revoke', { ...token, ...(await assertion(es256, 'robot')) })
  t.equal(revoked.statusCode, 200)
})

t.test('rejects invalid assertions', async (t) => {
  const svc = await buildServer(t, clients)
  const now = seconds()
  const pem = createPublicKey({ format: 'jwk', key: { kty: 'RSA', n: rs256.jwk.n ?? '', e: rs256.jwk.e ?? '' } })
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: 'robot', sub: 'robot', aud: issuer, jti: 'x', iat: now, exp: now + 60 }
  const forged = (alg: string, key: string | Buffer) => {
    const head = `${encode({ alg, kid: 'RS256' })}.${encode(claims)}`
    return `${head}.${key === '' ? '' : createHmac('sha256', key).update(head).digest('base64url')}`
  }
  const good = await assertion(es256, 'robot')
  const raw = (client_assertion: string) => ({ ...good, client_assertion })
  const bad: [string, Record<string, string>][] = [
    ['another audience', await assertion(es256, 'robot', { aud: 'https://other.example' })],
    ['the audience of another path', await assertion(es256, 'robot', { aud: `${issuer}/oauth/authorize` })],
    ['two audiences', await assertion(es256, 'robot', { aud: [issuer, 'https://other.example'] })],
    ['the issuer twice', await assertion(es256, 'robot', { aud: [issuer, issuer] })],
    ['the audience of another endpoint', await assertion(es256, 'robot', { aud: `${issuer}/oauth/introspect` })],
    ['a lifetime of more than 5 minutes', await assertion(es256, 'robot', { exp: now + 301 })],
    ['a lifetime of a day without iat', await assertion(es256, 'robot', { iat: undefined, exp: now + 86_400 })],
    ['an iat in the future', await assertion(es256, 'robot', { iat: now + 3_600, exp: now + 3_660 })],
    ['an exp with a fraction', await assertion(es256, 'robot', { exp: now + 60.5 })],
    ['an iat with a fraction', await assertion(es256, 'robot', { iat: now - 0.123456 })],
    ['an nbf with a fraction', await assertion(es256, 'robot', { nbf: now - 0.5 })],
    ['an absurd exp', await assertion(es256, 'robot', { exp: 1e300 })],
    ['an absurd iat', await assertion(es256, 'robot', { iat: -1e300 })],
    ['an absurd nbf', await assertion(es256, 'robot', { nbf: -1e300 })],
    ['an exp that is text', await assertion(es256, 'robot', { exp: String(now + 60) })],
    ['a jti that is a number', await assertion(es256, 'robot', { jti: 12 })],
    ['an absurd jti', await assertion(es256, 'robot', { jti: 'x'.repeat(20_000) })],
    ['no audience', await assertion(es256, 'robot', { aud: undefined })],
    ['expired', await assertion(es256, 'robot', { exp: now - 120 })],
    ['no end', await assertion(es256, 'robot', { exp: undefined })],
    ['not yet', await assertion(es256, 'robot', { nbf: now + 120 })],
    ['no jti', await assertion(es256, 'robot', { jti: undefined })],
    ['another issuer', await assertion(es256, 'robot', { iss: 'other' })],
    ['another subject', await assertion(es256, 'robot', { sub: 'other' })],
    ['no subject', await assertion(es256, 'robot', { sub: undefined })],
    ['an unknown subject', await assertion(es256, 'unknown')],
    ['a client with a secret', await assertion(es256, 'plain')],
    ['another key under the same name', await assertion({ ...stranger, jwk: es256.jwk }, 'robot')],
    ['a key with an unknown name', await assertion(stranger, 'robot', {}, { kid: 'x' })],
    ['a key in its own header', await assertion(stranger, 'robot', {}, { jwk: stranger.jwk, kid: undefined })],
    ['another algorithm than that of its key', await assertion(es256, 'robot', {}, { kid: 'RS256' })],
    [
      'an unknown critical header',
      await assertion(es256, 'robot', {}, { crit: ['x'], x: 1 }).catch(() => raw('a.b.c')),
    ],
    ['no signature', raw(forged('none', ''))],
    ['HS256 with the public key', raw(forged('HS256', pem.export({ type: 'spki', format: 'pem' })))],
    ['HS256 with the secret', { ...raw(forged('HS256', secret)) }],
    ['another text', raw(`${good.client_assertion}x`)],
    ['another type', { ...good, client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' }],
    ['another client_id', { ...good, client_id: 'other' }],
  ]
  for (const [what, fields] of bad) {
    const { statusCode, body } = await ask(svc, fields)
    t.ok(statusCode === 401 || statusCode === 400, `${what}: ${statusCode}`)
    t.match(JSON.parse(body).error, /^invalid_(client|request)$/, what)
  }
  t.equal((await ask(svc, good)).statusCode, 200, 'none of these used the valid one up')
  const metadata = (await svc.app.inject('/.well-known/openid-configuration')).json()
  t.notMatch(JSON.stringify(metadata), /"HS\d|client_secret_jwt/, 'no symmetric algorithm is offered')
})

t.test('accepts the issuer or the token endpoint as audience at every endpoint', async (t) => {
  const svc = await buildServer(t, clients)
  for (const path of ['/oauth/introspect', '/oauth/revoke', '/oauth/par']) {
    const at = async (aud: string) => (await ask(svc, await assertion(es256, 'robot', { aud }), path)).json().error
    t.equal(await at(`${issuer}/oauth/authorize`), 'invalid_client', path)
    t.not(await at(issuer), 'invalid_client', path)
    t.not(await at(`${issuer}/oauth/token`), 'invalid_client', path)
  }
  const own = async (path: string) =>
    (await ask(svc, await assertion(es256, 'robot', { aud: issuer + path }), path)).json().error
  t.equal(await own('/oauth/introspect'), 'invalid_client')
  t.equal(await own('/oauth/revoke'), 'invalid_client')
  t.not(
    await own('/oauth/par'),
    'invalid_client',
    'RFC 9126 section 2 allows the pushed request endpoint as audience of a pushed request',
  )
})

t.test('limits assertions to 5 minutes', async (t) => {
  const svc = await buildServer(t, clients)
  const now = seconds()
  t.equal((await ask(svc, await assertion(es256, 'robot', { iat: now, exp: now + 300 }))).statusCode, 200)
  const refused = await ask(svc, await assertion(es256, 'robot', { iat: now - 10, exp: now + 291 }))
  t.same([refused.statusCode, refused.json().error], [401, 'invalid_client'])
  t.match(refused.json().error_description, /exp must be at most 5 minutes after iat/)
})

t.test('accepts an assertion once when ten requests use it concurrently on two replicas', async (t) => {
  const svc = await buildServer(t, clients)
  const replica = await buildServer(t, clients, { database: svc.where, clock: svc.clock })
  for (let round = 0; round < 5; round++) {
    const fields = await assertion(es256, 'robot')
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => ask(n % 2 ? svc : replica, fields)))
    const statuses = answers.map(({ statusCode }) => statusCode).sort()
    t.same(statuses, [200, ...Array(9).fill(401)])
  }
  const fields = await assertion(es256, 'robot', { jti: 'the same' })
  t.equal((await ask(svc, fields)).statusCode, 200)
  t.equal((await ask(replica, fields)).statusCode, 401)
  t.equal((await ask(replica, fields, '/oauth/introspect')).statusCode, 401, 'and at no other endpoint')
  t.equal(
    (await ask(svc, await assertion(es256, 'other', { jti: 'the same' }))).statusCode,
    200,
    'a name of its client',
  )
  t.equal((await ask(svc, await assertion(rs256, 'robot', { jti: 'the same' }))).statusCode, 401)
})
