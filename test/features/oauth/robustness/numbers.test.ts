import { hash } from 'node:crypto'
import t from 'tap'
import { callback, Person, pkce, response, verifier } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'
import { buildServer, machine, newKey, post, proof, seconds } from '../clients/parties.ts'

stopTime(t)
const now = seconds()
const key = await newKey('ES256')

/** Claims that are not plain times or ids, but still JSON that a signer may produce. */
const odd: [string, Record<string, unknown>][] = [
  ['an iat with a fraction', { iat: now + 0.5 }],
  ['an iat with a long fraction', { iat: now - 0.123_456_789 }],
  ['an absurd iat', { iat: 1e300 }],
  ['an absurd negative iat', { iat: -1e300 }],
  ['an iat just above the integers', { iat: 2 ** 53 + 2 }],
  ['an iat that is text', { iat: String(now) }],
  ['an exp with a fraction', { exp: now + 60.5 }],
  ['an absurd exp', { exp: 1e300 }],
  ['an nbf with a fraction', { nbf: now - 0.5 }],
  ['an absurd nbf', { nbf: -1e300 }],
  ['a jti that is a number', { jti: 1.5 }],
  ['a jti that is a list', { jti: ['x'] }],
  ['an absurd jti', { jti: 'x'.repeat(5_000) }],
]

t.test(
  'answers invalid_dpop_proof at OAuth endpoints and 401 at the guard to odd numbers in a DPoP proof',
  async (t) => {
    const spa = { type: 'public', redirect_uris: [callback], grants: ['authorization_code', 'refresh_token'] }
    const svc = await buildServer(t, [machine('robot'), { client_id: 'spa', ...spa }])
    const client = { client_id: 'robot', client_secret: 'a-secret-that-is-long-enough' }
    const ask = (dpop: string) => post(svc, '/oauth/token', { grant_type: 'client_credentials', ...client }, { dpop })
    const asked = { client_id: 'spa', response_type: 'code', redirect_uri: callback, scope: 'openid', ...pkce }
    const { code = '' } = response(await new Person(svc, (await svc.createUser()).email).allow(asked))
    const fields = { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier }
    const dpop = await proof(key, 'POST', '/oauth/token')
    const redeemed = await post(svc, '/oauth/token', { ...fields, client_id: 'spa' }, { dpop })
    const { access_token } = redeemed.json()
    t.equal(redeemed.json().token_type, 'DPoP')
    const nonce = (await ask(await proof(key, 'POST', '/oauth/token', { iat: now - 3_600 }))).headers['dpop-nonce']
    t.ok(nonce)
    const ath = hash('sha256', access_token, 'base64url')
    const call = async (url: string, claims: object) =>
      svc.app.inject({
        url,
        headers: { authorization: `DPoP ${access_token}`, dpop: await proof(key, 'GET', url, { ath, ...claims }) },
      })
    t.equal((await call('/api/user', {})).statusCode, 200, 'the valid proof')
    for (const [name, claims] of odd) {
      for (const more of [{}, { nonce }]) {
        const answer = await ask(await proof(key, 'POST', '/oauth/token', { ...claims, ...more }))
        t.same([answer.statusCode, answer.json().error], [400, 'invalid_dpop_proof'], `token endpoint: ${name}`)
      }
      const pushed = { ...asked, client_id: 'spa' }
      const atPar = await post(svc, '/oauth/par', pushed, { dpop: await proof(key, 'POST', '/oauth/par', claims) })
      t.same([atPar.statusCode, atPar.json().error], [400, 'invalid_dpop_proof'], `PAR: ${name}`)
      const userinfo = await call('/oauth/userinfo', claims)
      t.equal(userinfo.statusCode, 401, `UserInfo: ${name}`)
      t.equal(userinfo.json().error, 'invalid_dpop_proof', userinfo.body)
      const guard = await call('/api/user', claims)
      t.equal(guard.statusCode, 401, `guard: ${name}`)
      t.match(guard.headers['www-authenticate'], /error="invalid_dpop_proof"/)
    }
  },
)
