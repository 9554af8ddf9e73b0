import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Settings, TestApp } from '../../../support/app.ts'
import { callback, Person, pkce, response, verifier } from '../../../support/oauth.ts'
import { exampleUrl, openApiPath, routedPaths } from '../../../support/routes.ts'
import { buildServer, issuer, type Key, machine, newKey, post, proof, seconds, secret } from '../clients/parties.ts'

const code = { grants: ['authorization_code', 'refresh_token'], scopes: ['orders:read'], redirect_uris: [callback] }
const clients: Settings[] = [
  { client_id: 'bound', type: 'confidential', secret, dpop: true, ...code },
  { client_id: 'spa', type: 'public', ...code },
  machine('robot', { secret, dpop: true }),
]

const [key, stranger] = await Promise.all([newKey('ES256'), newKey('ES256')])
const athOf = (token: string): string => hash('sha256', token, 'base64url')

/** A proof for a request with the token. */
const proofFor = (
  token: string,
  htm: string,
  path: string,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  by: Key = key,
) => proof(by, htm, path, { ath: athOf(token), ...claims }, header)

const call = (
  svc: TestApp,
  token: string,
  dpop: string | undefined,
  url = '/api/user',
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' = 'GET',
) =>
  svc.app.inject({
    method,
    url,
    headers: { authorization: `DPoP ${token}`, accept: 'application/json', ...(dpop ? { dpop } : {}) },
  })

/** The response to the code of a whole authorization, with an optional proof. */
async function redeem(svc: TestApp, person: Person, client: string, dpop?: string, more: Record<string, string> = {}) {
  const asked = { client_id: client, response_type: 'code', redirect_uri: callback, ...pkce, ...more }
  const { code = '' } = response(await person.allow({ scope: 'openid orders:read', ...asked }))
  return token(svc, client, { grant_type: 'authorization_code', code, redirect_uri: callback }, dpop)
}

const token = (svc: TestApp, client: string, fields: Record<string, string>, dpop?: string) =>
  post(
    svc,
    '/oauth/token',
    { client_id: client, ...(client === 'spa' ? {} : { client_secret: secret }), code_verifier: verifier, ...fields },
    dpop ? { dpop } : {},
  )

async function start(t: Test) {
  const svc = await buildServer(t, clients)
  const user = await svc.createUser()
  const person = new Person(svc, user.email)
  const answer = await redeem(svc, person, 'spa', await proof(key, 'POST', '/oauth/token'))
  return { svc, user, person, tokens: answer.json() }
}

t.test('requires a proof from clients with dpop: true, and accepts one from others', async (t) => {
  const { svc, person, tokens } = await start(t)
  t.match(tokens, { token_type: 'DPoP', scope: 'openid orders:read' })
  const without = await redeem(svc, person, 'bound')
  t.same([without.statusCode, without.json().error], [400, 'invalid_grant'], 'dpop: true requires a proof')
  const withProof = await redeem(svc, person, 'bound', await proof(key, 'POST', '/oauth/token'))
  t.equal(withProof.json().token_type, 'DPoP')
  t.equal((await redeem(svc, person, 'spa')).json().token_type, 'Bearer', 'otherwise the proof is optional')
  const credentials = { grant_type: 'client_credentials' }
  t.equal((await token(svc, 'robot', credentials)).statusCode, 400)
  const robot = await token(svc, 'robot', credentials, await proof(key, 'POST', '/oauth/token'))
  t.equal(robot.json().token_type, 'DPoP')
  const shown = await post(svc, '/oauth/introspect', {
    client_id: 'robot',
    client_secret: secret,
    token: robot.json().access_token,
  })
  t.match(shown.json(), { active: true, token_type: 'DPoP', cnf: { jkt: key.thumbprint } })
  const early = await redeem(svc, person, 'spa', await proof(stranger, 'POST', '/oauth/token'), {
    dpop_jkt: key.thumbprint,
  })
  t.equal(early.json().error, 'invalid_grant', 'a code that is bound to another key')

  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  t.equal((await token(svc, 'spa', refresh)).json().error, 'invalid_grant', "a public client's refresh token is bound")
  const byOther = await token(svc, 'spa', refresh, await proof(stranger, 'POST', '/oauth/token'))
  t.equal(byOther.json().error, 'invalid_grant')
  const refreshed = await token(svc, 'spa', refresh, await proof(key, 'POST', '/oauth/token'))
  t.match(refreshed.json(), { token_type: 'DPoP' })
})

t.test('accepts a bound token with its proof on every protected route, and never without', async (t) => {
  const { svc, user, person, tokens } = await start(t)
  const { access_token: bound } = tokens
  const plain = (await redeem(svc, person, 'spa')).json().access_token
  const api = await svc.createToken(user)
  const spec = (await svc.app.inject('/openapi.json')).json()
  let asked = 0
  for (const { path } of routedPaths(svc.app).filter((route) => spec.paths[openApiPath(route.path)])) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE'] as const) {
      const operation = spec.paths[openApiPath(path)][method.toLowerCase()]
      // UserInfo answers with the errors of the protocol.
      if (path === '/oauth/userinfo' || !JSON.stringify(operation?.security ?? []).includes('bearer')) continue
      const url = exampleUrl(path)
      const { access_token: own } = (await redeem(svc, person, 'spa', await proof(key, 'POST', '/oauth/token'))).json()
      const asBearer = await svc.bearer(own, method, url)
      t.equal(asBearer.statusCode, 401, `${method} ${path} as a bearer`)
      t.equal(asBearer.headers['www-authenticate'], 'DPoP error="invalid_token", algs="RS256 PS256 ES256 EdDSA"')
      t.equal((await call(svc, own, undefined, url, method)).statusCode, 401, `${method} ${path} without a proof`)
      const answer = await call(svc, own, await proofFor(own, method, url), url, method)
      t.not(answer.statusCode, 401, `${method} ${path} with its proof`)
      asked++
    }
  }
  t.ok(asked > 8, 'the routes are found')
  t.equal((await call(svc, bound, await proofFor(bound, 'GET', '/api/user'))).json().id, user.id)
  t.equal((await svc.bearer(plain, 'GET', '/api/user')).statusCode, 200)
  for (const other of [plain, api, 'nonsense', '']) {
    const answer = await call(svc, other, await proofFor(other, 'GET', '/api/user'))
    t.equal(answer.statusCode, 401, 'an unbound token gets none of these')
  }
  const query = await call(svc, bound, await proofFor(bound, 'GET', '/api/user'), '/api/user?x=1#y')
  t.equal(query.statusCode, 200, 'the query is not part of it')
  t.equal((await call(svc, bound, await proofFor(bound, 'GET', '/api/user?x=1'))).statusCode, 200)

  const now = Math.floor(svc.clock.now() / 1000)
  const good = () => proofFor(bound, 'GET', '/api/user')
  const bad: [string, string][] = [
    ['another method', await proofFor(bound, 'POST', '/api/user')],
    ['a method in small letters', await proofFor(bound, 'get', '/api/user')],
    ['another path', await proofFor(bound, 'GET', '/api/tokens')],
    ['another host', await proofFor(bound, 'GET', '', { htu: 'http://evil.example/api/user' })],
    ['another port', await proofFor(bound, 'GET', '', { htu: 'http://localhost:8001/api/user' })],
    ['another scheme', await proofFor(bound, 'GET', '', { htu: 'https://localhost:8000/api/user' })],
    ['no address', await proofFor(bound, 'GET', '', { htu: undefined })],
    ['an invalid URL', await proofFor(bound, 'GET', '', { htu: '/api/user' })],
    ['another token', await proofFor(plain, 'GET', '/api/user')],
    ['no token', await proof(key, 'GET', '/api/user')],
    ['another key', await proofFor(bound, 'GET', '/api/user', {}, {}, stranger)],
    ['the name of its key', await proofFor(bound, 'GET', '/api/user', {}, { jwk: key.jwk }, stranger)],
    ['no key', await proofFor(bound, 'GET', '/api/user', {}, { jwk: undefined })],
    ['another type', await proofFor(bound, 'GET', '/api/user', {}, { typ: 'JWT' })],
    ['an old one', await proofFor(bound, 'GET', '/api/user', { iat: now - 400 })],
    ['one from the future', await proofFor(bound, 'GET', '/api/user', { iat: now + 400 })],
    ['no time', await proofFor(bound, 'GET', '/api/user', { iat: undefined })],
    ['an invalid time', await proofFor(bound, 'GET', '/api/user', { iat: 'now' })],
    ['an expired one', await proofFor(bound, 'GET', '/api/user', { exp: now - 1 })],
    ['no name', await proofFor(bound, 'GET', '/api/user', { jti: undefined })],
    ['an empty name', await proofFor(bound, 'GET', '/api/user', { jti: '' })],
    ['a number as jti', await proofFor(bound, 'GET', '/api/user', { jti: 7 })],
    ['two proofs', `${await good()}, ${await good()}`],
    ['the token itself', bound],
    ['nonsense', 'a.b.c'],
  ]
  for (const [what, dpop] of bad) {
    const answer = await call(svc, bound, dpop)
    t.equal(answer.statusCode, 401, what)
    t.match(answer.headers['www-authenticate'], /^DPoP error="invalid_dpop_proof"/, what)
    t.same(answer.json(), { message: 'Unauthenticated.', code: 'unauthenticated' })
  }
  t.equal((await call(svc, bound, await good())).statusCode, 200, 'a valid one still works')

  await post(svc, '/oauth/revoke', { client_id: 'spa', token: bound })
  t.equal((await call(svc, bound, await good())).statusCode, 401, 'a revoked one does not')
})

t.test('accepts a proof once, in parallel and across replicas', async (t) => {
  const { svc, tokens } = await start(t)
  const { access_token: bound } = tokens
  const replica = await buildServer(t, clients, { database: svc.where, clock: svc.clock })
  const places = [svc, replica]
  const send = (n: number, ask: (at: TestApp) => Promise<{ statusCode: number }>) =>
    Promise.all(Array.from({ length: n }, (_, i) => ask(places[i % 2] ?? svc)))
  for (let round = 0; round < 3; round++) {
    const dpop = await proofFor(bound, 'GET', '/api/user')
    const statuses = (await send(10, (at) => call(at, bound, dpop))).map(({ statusCode }) => statusCode)
    t.same(statuses.sort(), [200, ...Array(9).fill(401)], 'at the guard')

    const info = await proofFor(bound, 'GET', '/oauth/userinfo')
    const infos = (await send(10, (at) => call(at, bound, info, '/oauth/userinfo'))).map(({ statusCode }) => statusCode)
    t.same(infos.sort(), [200, ...Array(9).fill(401)], 'at userinfo')

    const asked = await proof(key, 'POST', '/oauth/token')
    const credentials = { grant_type: 'client_credentials' }
    const got = (await send(10, (at) => token(at, 'robot', credentials, asked))).map(({ statusCode }) => statusCode)
    t.same(got.sort(), [200, ...Array(9).fill(400)], 'at the token endpoint')
  }
})

t.test('remembers a proof for as long as it is valid', async (t) => {
  const { svc, tokens } = await start(t)
  const ahead = seconds() + 290
  const asked = await proof(key, 'POST', '/oauth/token', { iat: ahead })
  t.equal((await token(svc, 'robot', { grant_type: 'client_credentials' }, asked)).statusCode, 200)
  await call(
    svc,
    tokens.access_token,
    await proofFor(tokens.access_token, 'GET', '/oauth/userinfo', { iat: ahead }),
    '/oauth/userinfo',
  )
  await call(svc, tokens.access_token, await proofFor(tokens.access_token, 'GET', '/api/user', { iat: ahead }))
  const rows = await svc.database.prisma.usedOnce.findMany({ orderBy: { expiresAt: 'desc' }, take: 3 })
  t.equal(rows.length, 3)
  for (const { expiresAt } of rows) t.ok(Number(expiresAt) >= (ahead + 300) * 1000, String(expiresAt))
})

t.test('accepts bound tokens at userinfo', async (t) => {
  const { svc, user, tokens } = await start(t)
  const { access_token: bound } = tokens
  const url = '/oauth/userinfo'
  const answer = await call(svc, bound, await proofFor(bound, 'GET', url), url)
  t.equal(answer.json().sub, String(user.id))
  for (const dpop of [
    undefined,
    await proofFor(bound, 'POST', url),
    await proofFor(bound, 'GET', url, {}, {}, stranger),
    await proof(key, 'GET', url),
  ]) {
    const { statusCode, headers } = await call(svc, bound, dpop, url)
    t.ok([400, 401].includes(statusCode), String(statusCode))
    t.match(headers['www-authenticate'], /DPoP/)
  }
  t.equal((await svc.bearer(bound, 'GET', url)).statusCode, 401, 'as a bearer')
})

t.test('provides a nonce for clients with a wrong clock', async (t) => {
  const { svc } = await start(t)
  const credentials = { grant_type: 'client_credentials' }
  const old = { iat: seconds() - 86_400 }
  const refused = await token(svc, 'robot', credentials, await proof(key, 'POST', '/oauth/token', old))
  t.same([refused.statusCode, refused.json().error], [400, 'use_dpop_nonce'])
  const nonce = refused.headers['dpop-nonce']
  t.type(nonce, 'string')
  const withNonce = { ...old, nonce }
  const answer = await token(svc, 'robot', credentials, await proof(key, 'POST', '/oauth/token', withNonce))
  t.equal(answer.statusCode, 200)
  const replica = await buildServer(t, clients, { database: svc.where, clock: svc.clock })
  const there = await token(replica, 'robot', credentials, await proof(key, 'POST', '/oauth/token', withNonce))
  t.equal(there.statusCode, 200, 'from any replica')
  const made = await token(svc, 'robot', credentials, await proof(key, 'POST', '/oauth/token', { nonce: 'x' }))
  t.equal(made.json().error, 'use_dpop_nonce')
  t.match((await svc.app.inject('/.well-known/openid-configuration')).json(), {
    issuer,
    dpop_signing_alg_values_supported: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  })
})
