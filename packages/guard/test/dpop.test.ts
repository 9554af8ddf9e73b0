// engine: none
import { createHash, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, type JWK, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { guard as expressGuard } from '../src/express.ts'
import { guard as fetchGuard } from '../src/fetch.ts'
import type { DpopOptions, GuardOptions } from '../src/options.ts'
import { activeAnswer, audience, fakeIssuer, listen, newKey, type TestKey } from './issuer.ts'

const origin = 'https://orders.example.com'
const [key, stranger] = await Promise.all([newKey('a'), newKey('b')])
const publicPart = ({ jwk: { kty, crv, x, y } }: TestKey) => ({ kty, crv, x, y }) as JWK
const jkt = await calculateJwkThumbprint(publicPart(key))
const athOf = (token: string) => createHash('sha256').update(token).digest('base64url')

async function setup(t: Test, options: Partial<DpopOptions> = {}) {
  const issuer = await fakeIssuer(t)
  const guard = issuer.guard({
    dpop: { origin, ...options },
    introspection: { clientId: 'api', clientSecret: 'secret' },
  })
  const token = await issuer.token({ cnf: { jkt } })
  const proof = (claims: Record<string, unknown> = {}, by: TestKey = key, header: object = {}) => {
    const iat = Math.floor(issuer.clock.now / 1000)
    const all = { htm: 'GET', htu: `${origin}/orders`, jti: randomUUID(), iat, ath: athOf(token), ...claims }
    return new SignJWT(all)
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: publicPart(by), ...header })
      .sign(by.privateKey)
  }
  const ask = (dpop: string | string[] | undefined, scheme = 'DPoP', text = token, path = '/orders?page=2') =>
    guard.authenticate([`${scheme} ${text}`], { proofs: [dpop ?? []].flat(), method: 'GET', path })
  return { issuer, guard, token, proof, ask }
}

const invalidProof = {
  ...{ status: 401, code: 'unauthenticated' },
  headers: { 'www-authenticate': /^DPoP error="invalid_dpop_proof", algs="ES256/ },
}
const invalidToken = { status: 401, code: 'unauthenticated', headers: { 'www-authenticate': /error="invalid_token"/ } }

t.test('accepts a bound token with a proof, once', async (t) => {
  const { proof, ask } = await setup(t)
  const good = await proof()
  t.match(await ask(good), { id: '7', kind: 'jwt', keyThumbprint: jkt })
  await t.rejects(ask(good), invalidProof, 'a repeated proof')
  t.match(await ask(await proof(), 'dpop'), { id: '7' }, 'in any case')
})

t.test('rejects everything that does not prove the key', async (t) => {
  const { issuer, token, proof, ask, guard } = await setup(t)
  const now = Math.floor(issuer.clock.now / 1000)
  const proofs: [string, string | string[] | undefined][] = [
    ['no proof', undefined],
    ['two proofs', [await proof(), await proof()]],
    ['another key', await proof({}, stranger)],
    ['another method', await proof({ htm: 'POST' })],
    ['another path', await proof({ htu: `${origin}/other` })],
    ['another host', await proof({ htu: 'https://evil.example/orders' })],
    ['another token', await proof({ ath: athOf('x') })],
    ['no token', await proof({ ath: undefined })],
    ['no id', await proof({ jti: undefined })],
    ['an old proof', await proof({ iat: now - 301 })],
    ['a future proof', await proof({ iat: now + 301 })],
    ['another type', await proof({}, key, { typ: 'JWT' })],
    ['no JWT', 'x'],
  ]
  for (const [what, dpop] of proofs) await t.rejects(ask(dpop), invalidProof, what)
  await t.rejects(ask(await proof(), 'Bearer'), invalidToken, 'a bound token as bearer')
  await t.rejects(guard.authenticate([`Bearer ${token}`]), invalidToken)
  await t.rejects(ask(await proof(), 'DPoP', await issuer.token()), invalidToken, 'an unbound token')
  t.match(await guard.authenticate([`Bearer ${await issuer.token()}`]), { keyThumbprint: null })
  const other = await issuer.token({ cnf: { 'x5t#S256': 'certificate' } })
  await t.rejects(ask(await proof(), 'DPoP', other), invalidToken, 'another confirmation')
})

t.test('accepts bound API tokens', async (t) => {
  const { issuer, proof, ask } = await setup(t)
  issuer.answer = ({ text }, response) => {
    const [token = ''] = new URLSearchParams(text).getAll('tokens[]')
    response.end(JSON.stringify({ tokens: [activeAnswer(token, { cnf: { jkt } })] }))
  }
  t.match(await ask(await proof({ ath: athOf('1|secret') }), 'DPoP', '1|secret'), { kind: 'token', keyThumbprint: jkt })
  await t.rejects(ask(undefined, 'Bearer', '1|secret'), invalidToken)
})

t.test('rejects bound tokens without the option, and proofs that a common store knows', async (t) => {
  const { issuer, token, proof } = await setup(t)
  const plain = issuer.guard()
  const request = async () => ({ proofs: [await proof()], method: 'GET', path: '/orders' })
  await t.rejects(plain.authenticate([`DPoP ${token}`], await request()), { status: 401, code: 'unauthenticated' })
  const used = new Set<string>()
  const useOnce = async (id: string) => used.size < used.add(id).size
  const replicas = [1, 2].map(() => issuer.guard({ dpop: { origin, useOnce } }))
  const same = await request()
  const results = await Promise.allSettled(replicas.map((guard) => guard.authenticate([`DPoP ${token}`], same)))
  t.strictSame(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  for (const wrong of ['orders.example.com', `${origin}/`, `${origin}/api`])
    t.throws(() => issuer.guard({ dpop: { origin: wrong } }), /dpop\.origin/, wrong)
})

t.test('the adapters read the proof, the method and the path', async (t) => {
  const { issuer, token, proof } = await setup(t)
  const options: GuardOptions = {
    ...{ issuer: issuer.url, audience, dpop: { origin } },
    now: () => issuer.clock.now,
  }
  const handler = fetchGuard(options)((_request, { caller }) => Response.json({ id: caller.id }))
  const headers = async () => ({ authorization: `DPoP ${token}`, dpop: await proof() })
  const good = await handler(new Request('http://internal/orders?x=1', { headers: await headers() }), {})
  t.equal(good.status, 200)
  t.equal((await handler(new Request('http://internal/other', { headers: await headers() }), {})).status, 401)

  const middleware = expressGuard(options)
  const url = await listen(t, (request, response) => middleware(request, response, () => response.end('ok')))
  t.equal((await fetch(`${url}/orders?x=1`, { headers: await headers() })).status, 200)
  t.equal((await fetch(`${url}/orders`, { method: 'POST', headers: await headers() })).status, 401)
})
