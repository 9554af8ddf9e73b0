import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { stopTime } from '../../support/time.ts'
import { issuer, type Key, newKey, proof, secret } from '../oauth/clients/parties.ts'

const settings = {
  app: { url: issuer },
  server: { trust_proxy: ['203.0.113.77'] },
  guard: { rules: [{ paths: ['/bound/*'], bound: true }, { paths: ['/open'] }] },
  clients: [{ client_id: 'api', type: 'confidential', secret, grants: [], introspect: true }],
}

const [key, stranger] = await Promise.all([newKey('ES256'), newKey('ES256')])
const athOf = (token: string): string => hash('sha256', token, 'base64url')

async function start(t: Test) {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const user = await svc.createUser()
  return { svc, user }
}

const body = (email: string, more: object = {}) => ({ email, password: 'correct horse', device_name: 'phone', ...more })

const signIn = (svc: TestApp, email: string, dpop: string | undefined, more: object = {}) =>
  svc.app.inject({
    method: 'POST',
    url: '/svc/token',
    headers: { accept: 'application/json', ...(dpop === undefined ? {} : { dpop }) },
    payload: body(email, more),
  })

const forNewToken = (by: Key = key, claims: object = {}) => proof(by, 'POST', '/svc/token', { ...claims })

const call = (svc: TestApp, token: string, dpop: string | undefined, scheme = 'DPoP', url = '/api/user') =>
  svc.app.inject({
    url,
    headers: { accept: 'application/json', authorization: `${scheme} ${token}`, ...(dpop ? { dpop } : {}) },
  })

async function boundToken(svc: TestApp, email: string): Promise<string> {
  const answer = await signIn(svc, email, await forNewToken())
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json().token
}

t.test('binds the token of a sign-in to the key of the proof', async (t) => {
  const { svc, user } = await start(t)
  const token = await boundToken(svc, user.email)
  const prove = (by: Key, claims: object = {}) => proof(by, 'GET', '/api/user', { ath: athOf(token), ...claims })

  const good = await prove(key)
  t.equal((await call(svc, token, good)).statusCode, 200)
  t.equal((await call(svc, token, good)).statusCode, 401, 'a proof counts once')
  const refused: [string, string | undefined][] = [
    ['without a proof', undefined],
    ['with the proof of another key', await prove(stranger)],
    ['with a proof for another token', await prove(key, { ath: athOf('1|other') })],
    ['with a proof for no token', await prove(key, { ath: undefined })],
    ['with a proof for another route', await proof(key, 'GET', '/api/tokens', { ath: athOf(token) })],
    ['with a proof for another method', await proof(key, 'POST', '/api/user', { ath: athOf(token) })],
    ['with an old proof', await prove(key, { iat: Math.floor(svc.clock.now() / 1000) - 600 })],
    ['with something else', 'a.b.c'],
  ]
  for (const [what, dpop] of refused) {
    const answer = await call(svc, token, dpop)
    t.equal(answer.statusCode, 401, what)
    t.match(answer.headers['www-authenticate'], /^DPoP error="invalid_dpop_proof"/, what)
  }
  const bearer = await call(svc, token, undefined, 'Bearer')
  t.equal(bearer.statusCode, 401, 'not as a bearer token')
  t.match(bearer.headers['www-authenticate'], /^DPoP error="invalid_token"/)

  const plain = (await signIn(svc, user.email, undefined)).json().token
  t.equal((await call(svc, plain, undefined, 'Bearer')).statusCode, 200)
  t.equal(
    (await call(svc, plain, await proof(key, 'GET', '/api/user', { ath: athOf(plain) }))).statusCode,
    401,
    'an unbound token',
  )
})

t.test('issues no token for an invalid proof', async (t) => {
  const { svc, user } = await start(t)
  const old = Math.floor(svc.clock.now() / 1000) - 600
  const proofs: [string, string][] = [
    ['no JWT', 'x'],
    ['another route', await proof(key, 'POST', '/oauth/token')],
    ['another method', await proof(key, 'GET', '/svc/token')],
    ['too old', await forNewToken(key, { iat: old })],
    ['no id', await forNewToken(key, { jti: undefined })],
    ['empty', ''],
  ]
  for (const [what, dpop] of proofs) {
    const answer = await signIn(svc, user.email, dpop)
    t.strictSame([answer.statusCode, answer.json().code], [400, 'invalid_dpop_proof'], what)
  }
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('binds the tokens that a bound token creates to the same key', async (t) => {
  const { svc, user } = await start(t)
  const token = await boundToken(svc, user.email)
  const created = await svc.app.inject({
    method: 'POST',
    url: '/api/tokens/create',
    headers: {
      authorization: `DPoP ${token}`,
      dpop: await proof(key, 'POST', '/api/tokens/create', { ath: athOf(token) }),
    },
    payload: { token_name: 'child' },
  })
  t.equal(created.statusCode, 200, created.body)
  const child = created.json().token
  t.equal((await call(svc, child, undefined, 'Bearer')).statusCode, 401)
  t.equal((await call(svc, child, await proof(key, 'GET', '/api/user', { ath: athOf(child) }))).statusCode, 200)
})

t.test('tells APIs the key of the token', async (t) => {
  const { svc, user } = await start(t)
  const token = await boundToken(svc, user.email)
  const answer = await svc.app.inject({
    method: 'POST',
    url: '/oauth/introspect',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${btoa(`api:${secret}`)}`,
    },
    payload: new URLSearchParams({ token }).toString(),
  })
  t.match(answer.json(), { active: true, token_type: 'DPoP', cnf: { jkt: /^[\w-]{43}$/ } })
})

t.test('lets the guard check the proof for the request that the proxy received', async (t) => {
  const { svc, user } = await start(t)
  const token = await boundToken(svc, user.email)
  const plain = (await signIn(svc, user.email, undefined)).json().token
  const ask = async (authorization: string, path: string, dpop?: string) => {
    const headers = {
      authorization,
      ...(dpop === undefined ? {} : { dpop }),
      ...{
        'x-forwarded-method': 'GET',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'api.example.com',
        'x-forwarded-uri': path,
      },
    }
    return (await svc.app.inject({ url: '/svc/guard', headers })).statusCode
  }
  const prove = (htu: string) => proof(key, 'GET', '/x', { ath: athOf(token), htu })
  const target = 'https://api.example.com/bound/1'
  t.equal(await ask(`DPoP ${token}`, '/bound/1?page=2', await prove(target)), 200)
  t.equal(await ask(`DPoP ${token}`, '/bound/1', await prove('https://api.example.com/bound/2')), 401)
  t.equal(await ask(`DPoP ${token}`, '/bound/1', await proof(key, 'GET', '/svc/guard', { ath: athOf(token) })), 401)
  t.equal(await ask(`Bearer ${plain}`, '/bound/1'), 403, 'an unbound token')
  t.equal(await ask(`Bearer ${plain}`, '/open'), 200)
})
