// engine: none
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { decodeJwt, type JSONWebKeySet, SignJWT } from 'jose'
import t from 'tap'
import { AccessTokenVerifier } from '../../../../src/features/oauth/access-token.ts'
import { buildTestApp } from '../../../support/app.ts'
import { minute, second } from '../../../support/clock.ts'
import { clients, codeFlow, introspect, oauthSettings, Person, request, response } from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { otherProcess } from '../keys/other-process.ts'

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

t.test('rejects every forged or altered access token', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const user = await svc.createUser()
  const ada = new Person(svc, user.email)
  const { access_token, refresh_token, id_token = '' } = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  const { ring, sign } = await otherProcess(t, svc)
  const claims = decodeJwt(access_token)
  const good = await sign(claims)
  const opens = async (token: string) => {
    const guard = (await svc.bearer(token, 'GET', '/api/user')).statusCode
    const userinfo = (await svc.bearer(token, 'GET', '/oauth/userinfo')).statusCode
    const { active } = await introspect(svc, 'watcher', token)
    return { guard, userinfo, active }
  }
  t.match(await opens(good), { guard: 200, userinfo: 200, active: true }, 'the valid token')
  t.match(await opens(await sign(claims, {}, 'RS256')), { guard: 200 }, 'any key of ours')

  const shut = { guard: 401, userinfo: 401, active: false }
  const [head = '', body = '', signature = ''] = good.split('.')
  const { signing, public: published } = ring.current()
  const own = published.keys.find(({ kid }) => kid === signing.ES256.kid)
  const pem = createPublicKey({ key: { ...own }, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
  const hmac = (key: string | Buffer, header: object = {}) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: signing.ES256.kid, ...header })
      .sign(Buffer.from(key))
  const evil = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const evilJwk = evil.publicKey.export({ format: 'jwk' })
  const byEvil = (header: object) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header }).sign(evil.privateKey)
  const withHead = (header: object) => `${part(header)}.${body}.${signature}`
  const next = (letter: string) => String.fromCharCode(letter.charCodeAt(0) + 1)

  let lettered = good
  while (!/[-_]/.test(lettered)) lettered = await sign(claims)
  const forged: Record<string, string> = {
    'HS256 with the public key as PEM': await hmac(pem),
    'HS256 with the public key as JWK': await hmac(JSON.stringify(own)),
    'HS256 with the secret of svc': await hmac('the-secret-of-the-tests-is-32-bytes-long'),
    'HS256 with an empty key and a path as kid': await hmac('\0', { kid: '../../../../dev/null' }),
    'alg none': `${part({ alg: 'none', typ: 'at+jwt' })}.${body}.`,
    'alg None with a signature': withHead({ alg: 'None', typ: 'at+jwt', kid: signing.ES256.kid }),
    'no alg': withHead({ typ: 'at+jwt', kid: signing.ES256.kid }),
    'another algorithm for the key': withHead({ alg: 'RS256', typ: 'at+jwt', kid: signing.ES256.kid }),
    'a key of another algorithm': withHead({ alg: 'ES256', typ: 'at+jwt', kid: signing.RS256.kid }),
    'a foreign key under our kid': await byEvil({ kid: signing.ES256.kid }),
    'a foreign key in the header': await byEvil({ kid: 'x', jwk: evilJwk }),
    'a foreign key in the header under our kid': await byEvil({ kid: signing.ES256.kid, jwk: evilJwk }),
    'a foreign key at a URL': await byEvil({
      kid: 'x',
      jku: 'https://evil.example/jwks',
      x5u: 'https://evil.example',
    }),
    'SQL as kid': await byEvil({ kid: "' OR 1=1 --" }),
    'an unknown critical header': await sign(claims, { crit: ['exp'], exp: 1 }).catch(() => withHead({ crit: ['x'] })),
    'no type': await sign(claims, { typ: undefined }),
    'type JWT': await sign(claims, { typ: 'JWT' }),
    'the type of logout tokens': await sign(claims, { typ: 'logout+jwt' }),
    'the type of client assertions': await sign(claims, { typ: 'client-authentication+jwt' }),
    'an ID token': id_token,
    'an ID token of our newest key': await sign(decodeJwt(id_token), { typ: 'JWT' }),
    'other claims with its signature': `${head}.${part({ ...claims, sub: '2' })}.${signature}`,
    'no signature': `${head}.${body}.`,
    'a signature cut short': `${head}.${body}.${signature.slice(0, -4)}`,
    'a second spelling of the signature': `${head}.${body}.${signature.slice(0, -1)}${next(signature.at(-1) ?? 'A')}`,
    padding: `${head}.${body}.${signature}==`,
    'standard base64': lettered.replaceAll('-', '+').replaceAll('_', '/'),
    'four parts': `${good}.${signature}`,
    'five parts': `${good}..`,
    'an empty header': `.${body}.${signature}`,
    'a very long one': await sign({ ...claims, filler: 'x'.repeat(9000) }),
  }
  const now = Math.floor(svc.clock.now() / 1000)
  const bent: Record<string, object> = {
    'another issuer': { iss: 'https://evil.example' },
    'our issuer with a slash': { iss: 'http://localhost:8000/' },
    'no issuer': { iss: undefined },
    over: { exp: now },
    'without an end': { exp: undefined },
    'from tomorrow': { nbf: now + 60 },
    'no subject': { sub: undefined },
    'no such user': { sub: '999999' },
    'a user id beyond the integers': { sub: '99999999999999999999' },
    'a user id in another spelling': { sub: ` ${user.id}` },
    'no client': { client_id: undefined },
    'no such client': { client_id: 'unknown' },
    'no jti': { jti: undefined },
    'no grant': { gid: undefined },
    'no such grant': { gid: 'x' },
    'a personal token without a row': { gid: 'personal' },
    'an invalid session': { gid: 'session:x' },
    'numbers for text': { sub: 1 },
  }
  for (const [name, change] of Object.entries(bent)) forged[name] = await sign({ ...claims, ...change })
  for (const [name, token] of Object.entries(forged)) t.match(await opens(token), shut, name)

  t.match(await opens(refresh_token), { guard: 401, userinfo: 401, active: true }, 'a refresh token is no access token')
  const elsewhere = { ...claims, aud: 'https://other.example' }
  t.match(await opens(await sign(elsewhere)), { guard: 401 }, 'for another API')
  t.match(await opens(await sign({ ...claims, aud: [String(claims.aud), 'https://other.example'] })), { guard: 401 })
  t.match(await opens(await sign({ ...claims, cnf: { jkt: 'x' } })), { guard: 401, userinfo: 401 }, 'bound to a key')
  const machine = { ...claims, gty: 'client_credentials', sub: String(user.id), gid: undefined }
  t.match(await opens(await sign(machine)), { guard: 403, userinfo: 401 }, 'a machine with the id of a user')
})

t.test('issues tokens for the API of each client', async (t) => {
  const audience = 'https://stock.example'
  const settings = {
    ...oauthSettings,
    clients: clients.map((one) => (one.client_id === 'web' ? { ...one, audience } : one)),
  }
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const { access_token } = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  t.equal(decodeJwt(access_token).aud, audience)
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 401, 'not for ours')
  t.equal((await svc.bearer(access_token, 'GET', '/oauth/userinfo')).statusCode, 200, 'except at userinfo')
  t.match(await introspect(svc, 'watcher', access_token), { active: true, aud: audience })
  t.match(response(await ada.authorize(request('web', { resource: audience, scope: 'openid' }))), { code: /./ })
  t.match(response(await ada.authorize(request('spa', { resource: audience, scope: 'openid' }))), {
    error: 'invalid_target',
  })
})

t.test('rejects a token after its expiry, however often it was verified before', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const { access_token } = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  const status = async () => (await svc.bearer(access_token, 'GET', '/api/user')).statusCode
  t.same([await status(), await status()], [200, 200])
  travel(svc, 15 * minute - second)
  t.equal(await status(), 200)
  travel(svc, second)
  t.equal(await status(), 401)
})

t.test('publishes every scope, and how long keys may be cached', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  for (const path of ['openid-configuration', 'oauth-authorization-server']) {
    const answer = await svc.app.inject({ url: `/.well-known/${path}`, headers: { host: 'evil.example' } })
    t.match(answer.json(), {
      issuer: 'http://localhost:8000',
      jwks_uri: 'http://localhost:8000/.well-known/jwks.json',
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    })
    const scopes = [
      'openid',
      'profile',
      'email',
      'offline_access',
      'roles',
      'groups',
      'orders:read',
      'orders:write',
      'stock:read',
    ]
    t.same(answer.json().scopes_supported, scopes, path)
    t.notMatch(answer.body, 'HS256', 'no symmetric algorithm is offered')
    t.notMatch(answer.body, 'implicit')
  }
  const keys = await svc.app.inject('/.well-known/jwks.json')
  t.equal(keys.headers['cache-control'], 'public, max-age=600')
  t.same(new Set(keys.json().keys.map(({ alg }: { alg: string }) => alg)), new Set(['ES256', 'RS256', 'EdDSA']))
  t.notMatch(keys.body, /"(d|p|q|k|dp|dq|qi)"/, 'and no private key')
})

t.test('caches the verification of exact tokens only', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const user = await svc.createUser()
  const ada = new Person(svc, user.email)
  const { access_token: good } = await codeFlow(svc, ada, 'web', { scope: 'openid' })
  const other = (await codeFlow(svc, ada, 'web', { scope: 'openid orders:read' })).access_token
  const status = async (text: string) => (await svc.bearer(text, 'GET', '/api/user')).statusCode
  t.same([await status(good), await status(other)], [200, 200], 'both are cached as verified')
  const [head = '', body = '', signature = ''] = good.split('.')
  const [, otherBody = '', otherSignature = ''] = other.split('.')
  const bent = {
    'the signature of another token': `${head}.${body}.${otherSignature}`,
    'the claims of another token': `${head}.${otherBody}.${signature}`,
    'no signature': `${head}.${body}.`,
    'a shorter signature': good.slice(0, -4),
    'a longer signature': `${good}AAAA`,
    'another case': good.toUpperCase(),
  }
  for (const [name, text] of Object.entries(bent)) t.equal(await status(text), 401, name)
  const every = Array.from({ length: Math.floor(good.length / 9) }, (_, step) => step * 9)
  for (const at of every.filter((index) => good[index] !== '.')) {
    const changed = good.slice(0, at) + (good[at] === 'A' ? 'B' : 'A') + good.slice(at + 1)
    t.equal(await status(changed), 401, `character ${at}`)
  }
  t.equal(await status(good), 200)
})

t.test('rejects a token whose key is withdrawn while its signature is checked', async (t) => {
  const issuer = 'https://auth.example.com'
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'stolen', alg: 'ES256' }
  const token = await new SignJWT({ jti: 'a', client_id: 'robot' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'stolen' })
    .setIssuer(issuer)
    .setSubject('robot')
    .setAudience(issuer)
    .setExpirationTime('10y')
    .sign(privateKey)
  let keys: { version: string; public: JSONWebKeySet } = { version: 'stolen', public: { keys: [key] } }
  const verifier = new AccessTokenVerifier(issuer, { current: () => keys, knows: async () => false })
  const now = Date.now()
  const begun = verifier.verify(token, now)
  keys = { version: 'none', public: { keys: [] } }
  t.equal(await verifier.verify('another.token.here', now), null)
  t.equal(await begun, null)
  t.equal(await verifier.verify(token, now), null, 'it is not cached')
})
