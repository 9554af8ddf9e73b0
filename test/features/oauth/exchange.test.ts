// engine: none
import { createLocalJWKSet, decodeJwt, jwtVerify, SignJWT } from 'jose'
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { stopTime } from '../../support/time.ts'

const secret = 'a-secret-that-is-long-enough'
const accessToken = 'urn:ietf:params:oauth:token-type:access_token'
const grant_type = 'urn:ietf:params:oauth:grant-type:token-exchange'
const stock = 'https://stock.example'

const confidential = (client_id: string, more: object) => ({ client_id, type: 'confidential', secret, ...more })
const exchanging = (client_id: string, more: object = {}) =>
  confidential(client_id, { grants: ['token_exchange'], exchange: ['front'], scopes: ['orders:read'], ...more })

const settings = {
  scopes: { 'orders:read': 'See orders', 'orders:write': 'Change orders', 'stock:read': 'See stock' },
  clients: [
    confidential('front', { grants: ['password', 'refresh_token'], scopes: ['orders:read', 'orders:write'] }),
    confidential('stranger', { grants: ['password'], scopes: ['orders:read'] }),
    confidential('machine', { grants: ['client_credentials'], scopes: ['orders:read'] }),
    confidential('watcher', { grants: ['client_credentials'], introspect: true }),
    exchanging('gateway', { scopes: ['orders:read', 'stock:read'], audience: stock, access_token_ttl: '1d' }),
    exchanging('api'),
    exchanging('curious', { exchange: ['front', 'machine', 'gateway', 'svc-first-party', 'svc-personal'] }),
    exchanging('closed', { exchange: [] }),
    exchanging('open', { type: 'public', secret: undefined }),
  ].map((client) => structuredClone(client)),
}

const build = (t: Parameters<typeof buildTestApp>[0], clock = stopTime(t)) => buildTestApp(t, { settings, clock })

type Fields = Record<string, string>

const post = ({ app }: TestApp, client: string, fields: Fields, path = '/oauth/token') =>
  app.inject({
    method: 'POST',
    url: path,
    payload: { client_id: client, ...(client === 'open' ? {} : { client_secret: secret }), ...fields },
  })

const exchange = (svc: TestApp, client: string, subject_token: string, more: Fields = {}) =>
  post(svc, client, { grant_type, subject_token, subject_token_type: accessToken, ...more })

async function signedIn(svc: TestApp, client = 'front', more: Fields = {}) {
  const user = await svc.createUser()
  const fields = { grant_type: 'password', username: user.email, password: 'correct horse', ...more }
  const { access_token, refresh_token } = (await post(svc, client, fields)).json()
  return { user, token: access_token as string, refresh: refresh_token as string }
}

const status = async ({ bearer }: TestApp, token: string) => (await bearer(token, 'GET', '/api/user')).statusCode
const isActive = async (svc: TestApp, token: string) =>
  (await post(svc, 'watcher', { token }, '/oauth/introspect')).json().active

const invalid = { error: 'invalid_request', error_description: 'subject_token is invalid' }

t.test('exchanges a token for one of the same user with the common permissions', async (t) => {
  const svc = await build(t)
  const { user, token } = await signedIn(svc)
  const answer = await exchange(svc, 'gateway', token)
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.headers['cache-control'], 'no-store')
  const { access_token, expires_in, ...rest } = answer.json()
  t.strictSame(rest, { token_type: 'Bearer', issued_token_type: accessToken, scope: 'orders:read' })
  const jwks = createLocalJWKSet((await svc.app.inject('/.well-known/jwks.json')).json())
  const issuer = 'http://localhost:8000'
  const { payload } = await jwtVerify(access_token, jwks, { issuer, audience: stock, typ: 'at+jwt' })
  const subject = decodeJwt(token)
  t.match(payload, { sub: String(user.id), client_id: 'gateway', scope: 'orders:read', scopes: ['orders:read'] })
  t.equal(payload.gid, subject.gid, 'it shares the grant')
  t.not(payload.jti, subject.jti)
  t.equal(payload.exp, subject.exp, "although its client's tokens last a day")
  t.equal(expires_in, Number(payload.exp) - Number(payload.iat))
  t.equal(await status(svc, access_token), 401, 'it has another audience')
  const own = (await exchange(svc, 'api', token, { scope: 'orders:read' })).json()
  t.equal(await status(svc, own.access_token), 200)
  t.equal(
    (await svc.bearer(own.access_token, 'GET', '/oauth/userinfo')).statusCode,
    403,
    'it has no claims about the user',
  )
  t.equal(await isActive(svc, access_token), true)
  t.notOk(svc.logs.join().includes(access_token) || svc.logs.join().includes(token))
  for (const target of [{ audience: stock }, { resource: stock }, { requested_token_type: accessToken }]) {
    t.equal((await exchange(svc, 'gateway', token, target)).statusCode, 200)
  }
})

t.test('grants no more than the subject token and the client have', async (t) => {
  const svc = await build(t)
  const { token } = await signedIn(svc, 'front', { scope: 'openid orders:read' })
  for (const scope of ['orders:write', 'stock:read', 'openid', 'orders:read stock:read', 'offline_access']) {
    const answer = await exchange(svc, 'gateway', token, { scope })
    t.equal(answer.statusCode, 400, scope)
    t.match(answer.json(), { error: 'invalid_scope' })
  }
  t.equal((await exchange(svc, 'gateway', token)).json().scope, 'orders:read')
  const narrow = await signedIn(svc, 'front', { scope: 'orders:write' })
  const nothing = (await exchange(svc, 'gateway', narrow.token)).json()
  t.notOk('scope' in nothing)
  t.strictSame(decodeJwt(nothing.access_token).scopes, [], 'nothing in common')
  for (const target of ['http://localhost:8000', 'https://evil.example', '*']) {
    for (const name of ['audience', 'resource']) {
      const answer = await exchange(svc, 'gateway', token, { [name]: target })
      t.equal(answer.statusCode, 400, `${name} ${target}`)
      t.match(answer.json(), { error: 'invalid_target' })
    }
  }
})

t.test('exchanges only valid user tokens of clients that are listed', async (t) => {
  const svc = await build(t)
  const { user, token, refresh } = await signedIn(svc)
  const browser = svc.browser()
  await browser.signIn(user.email)
  const fresh: string = (await browser.post('/oauth/token/fresh')).json().access_token
  const personal: string = (
    await browser.post('/oauth/personal-access-tokens', { name: 'x', scopes: ['orders:read'] })
  ).json().accessToken
  const machine = (await post(svc, 'machine', { grant_type: 'client_credentials' })).json().access_token
  const key = await svc.app.oauth.signingKey()
  const bound = await new SignJWT({ ...decodeJwt(token), cnf: { jkt: 'x'.repeat(43) } })
    .setProtectedHeader({ alg: key.alg, typ: 'at+jwt', kid: key.kid })
    .sign(key)
  const [header = '', payload = '', signature = ''] = token.split('.')
  const forged = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: '1', scope: 'stock:read' })).toString(
    'base64url',
  )
  const refused: Fields = {
    'of a client that is not listed': (await signedIn(svc, 'stranger')).token,
    'of a machine': machine,
    'bound to a key': bound,
    'a personal one': personal,
    'an API token': await svc.createToken(user),
    'a refresh token': refresh,
    'with other claims': `${header}.${forged}.${signature}`,
    'without a signature': `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${payload}.`,
    'with something added': `${token}x`,
    nonsense: 'x',
    'with odd characters': '\0\ud800ü',
  }
  for (const [what, subject] of Object.entries(refused)) {
    const answer = await exchange(svc, 'curious', subject)
    t.equal(answer.statusCode, 400, what)
    t.same(answer.json(), invalid)
  }
  t.same((await exchange(svc, 'closed', token)).json(), invalid, 'no client is listed')
  const chained = (await exchange(svc, 'gateway', token)).json().access_token
  t.same((await exchange(svc, 'api', chained)).json(), invalid, 'a chain needs the name of its middle')
  t.equal((await exchange(svc, 'curious', chained)).statusCode, 200)
  const page = await exchange(svc, 'curious', fresh)
  t.equal(page.statusCode, 200, "the page's own token, if its client is listed")
  t.equal(await status(svc, page.json().access_token), 200)
  t.equal(await isActive(svc, page.json().access_token), true)
  await browser.post('/logout')
  t.equal(await status(svc, page.json().access_token), 401, 'it ends with the session')
  t.equal(await isActive(svc, page.json().access_token), false)
})

t.test('accepts only complete requests of clients with the grant', async (t) => {
  const svc = await build(t)
  const { token } = await signedIn(svc)
  for (const client of ['machine', 'front', 'open']) {
    const answer = await exchange(svc, client, token)
    t.equal(answer.statusCode, 400, client)
    t.match(answer.json(), { error: 'unauthorized_client' })
  }
  t.equal((await exchange(svc, 'api', token, { client_secret: 'wrong' })).statusCode, 401)
  const jwt = 'urn:ietf:params:oauth:token-type:jwt'
  const odd: Fields[] = [
    { subject_token_type: jwt },
    { subject_token_type: '' },
    { subject_token: '' },
    { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
    { actor_token: token, actor_token_type: accessToken },
    { actor_token: token },
    { actor_token_type: accessToken },
  ]
  for (const fields of odd) {
    const answer = await exchange(svc, 'api', token, fields)
    t.equal(answer.statusCode, 400, JSON.stringify(fields).slice(0, 80))
    t.match(answer.json(), { error: 'invalid_request' })
  }
})

t.test('revokes an exchanged token together with its subject token, but not the reverse', async (t) => {
  const svc = await build(t)
  const { prisma } = svc.database
  const { user, token, refresh } = await signedIn(svc)
  const get = async () => (await exchange(svc, 'api', token)).json().access_token as string
  const [one, two] = [await get(), await get()]
  await post(svc, 'stranger', { token: one }, '/oauth/revoke')
  t.equal(await status(svc, one), 200, 'another client revokes nothing')
  t.equal((await post(svc, 'api', { token: one }, '/oauth/revoke')).statusCode, 200)
  t.equal(await status(svc, one), 401)
  t.same([await status(svc, token), await status(svc, two)], [200, 200], "the client cannot end the subject's grant")
  t.equal((await post(svc, 'front', { grant_type: 'refresh_token', refresh_token: refresh })).statusCode, 200)

  const where = { id: BigInt(user.id) }
  await prisma.user.update({ where, data: { disabledAt: new Date() } })
  t.equal(await status(svc, two), 401)
  t.same((await exchange(svc, 'api', token)).json(), invalid)
  await prisma.user.update({ where, data: { disabledAt: null } })
  t.equal(await status(svc, two), 200)

  const browser = svc.browser()
  await browser.signIn(user.email)
  const [grant] = (await browser.get('/oauth/tokens')).json()
  t.equal((await browser.delete(`/oauth/tokens/${grant.id}`)).statusCode, 204)
  t.same([await status(svc, two), await isActive(svc, two)], [401, false], 'with the grant')
  t.same((await exchange(svc, 'api', token)).json(), invalid)

  const other = await signedIn(svc)
  const last = (await exchange(svc, 'api', other.token)).json().access_token
  await prisma.user.delete({ where: { id: BigInt(other.user.id) } })
  t.equal(await status(svc, last), 401)
  const old = await signedIn(svc)
  svc.clock.advance(16 * 60_000)
  t.same((await exchange(svc, 'api', old.token)).json(), invalid, 'nor is an expired token')
})

t.test('revokes the exchanged token when the subject token is revoked', async (t) => {
  const svc = await build(t)
  const { token, refresh } = await signedIn(svc)
  const { token: other } = await signedIn(svc)
  const get = async (subject: string) => (await exchange(svc, 'api', subject)).json().access_token as string
  const [one, two, bystander] = [await get(token), await get(token), await get(other)]
  t.same([await status(svc, one), await status(svc, two), await isActive(svc, one)], [200, 200, true])
  t.equal((await post(svc, 'front', { token }, '/oauth/revoke')).statusCode, 200)
  t.same([await status(svc, one), await status(svc, two), await isActive(svc, one)], [401, 401, false])
  t.same((await exchange(svc, 'api', token)).json(), invalid)
  t.equal(await status(svc, bystander), 200)
  const next = await post(svc, 'front', { grant_type: 'refresh_token', refresh_token: refresh })
  t.equal(await status(svc, await get(next.json().access_token)), 200, 'the next access token can be exchanged again')
})
