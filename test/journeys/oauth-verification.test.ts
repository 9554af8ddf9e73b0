// engine: none
// lane: all
import { createPublicKey } from 'node:crypto'
import { mock } from 'node:test'
import { createVerifier } from 'fast-jwt'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import t from 'tap'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { TestClock } from '../support/clock.ts'
import { runCommandOn } from '../support/command.ts'
import { oauthSettings, token } from '../support/oauth.ts'
import { freePort } from '../support/process.ts'
import { stopTime } from '../support/time.ts'

const audience = 'https://api.example'

/** svc on a port under its own address. */
async function listen(t: Parameters<typeof buildTestApp>[0], clock: TestClock, settings: object = {}) {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const svc = await buildTestApp(t, {
    settings: { ...oauthSettings, app: { url }, oauth: { audience, ...settings } },
    clock,
  })
  await svc.app.listen({ port, host: 'localhost' })
  return { svc, url, jwks: `${url}/.well-known/jwks.json` }
}

const machineToken = async (svc: TestApp): Promise<string> =>
  (await token(svc, 'machine', { grant_type: 'client_credentials' })).json().access_token

for (const alg of ['ES256', 'RS256', 'EdDSA'] as const) {
  t.test(`verifies ${alg} tokens in an API by the address of the key set alone`, async (t) => {
    const { svc, url, jwks } = await listen(t, stopTime(t), { access_token_alg: alg })
    const accessToken = await machineToken(svc)
    t.match(decodeProtectedHeader(accessToken), { alg, typ: 'at+jwt', kid: /./ })

    const rules = { issuer: url, audience, typ: 'at+jwt' }
    const { payload } = await jwtVerify(accessToken, createRemoteJWKSet(new URL(jwks)), rules)
    t.match(payload, { sub: 'machine', client_id: 'machine', scope: 'orders:read' }, 'jose')

    const verify = createVerifier({
      key: async ({ header }: { header: { kid?: string } }) => {
        const answer = await fetch(jwks)
        const { keys } = (await answer.json()) as { keys: { kid: string; kty: string }[] }
        const key = keys.find(({ kid }) => kid === header.kid)
        return createPublicKey({ key: key ?? {}, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
      },
      algorithms: [alg],
      allowedIss: url,
      allowedAud: audience,
      checkTyp: 'at+jwt',
    })
    t.match(await verify(accessToken), { sub: 'machine', scopes: ['orders:read'] }, 'fast-jwt')
    const [head, body, signature = ''] = accessToken.split('.')
    const bent = `${head}.${body}.${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`
    await t.rejects(jwtVerify(bent, createRemoteJWKSet(new URL(jwks)), rules))
    await t.rejects(verify(bent))
    await t.rejects(jwtVerify(accessToken, createRemoteJWKSet(new URL(jwks)), { ...rules, audience: 'https://x' }))
  })
}

t.test('rotates keys under load without failed verifications', async (t) => {
  const start = Date.now()
  mock.timers.enable({ apis: ['Date', 'setInterval'], now: start })
  t.teardown(() => mock.timers.reset())
  const clock = new TestClock(start)
  const { svc, url, jwks } = await listen(t, clock, { key_rotation: '1h' })
  const replica = await buildTestApp(t, {
    settings: { ...oauthSettings, app: { url }, oauth: { audience, key_rotation: '1h' } },
    clock,
    database: svc.where,
  })
  const [, maxAge = ''] = /max-age=(\d+)/.exec((await fetch(jwks)).headers.get('cache-control') ?? '') ?? []
  // Caches the set as long as it may, and never refreshes it before that, even for an unknown key.
  const cache = { cacheMaxAge: Number(maxAge) * 1000, cooldownDuration: 86_400_000 }
  const keys = createRemoteJWKSet(new URL(jwks), cache)
  // Key generation takes real time, during which the clock must not advance: a token with an unknown key waits for the
  // ring.
  const unknown = withKid(await machineToken(svc), 'unknown')
  const looked = async (app: TestApp) => t.equal((await app.bearer(unknown, 'GET', '/api/user')).statusCode, 401)
  const issued: { token: string; until: number }[] = []
  const used = new Set<unknown>()
  let verified = 0
  // Three hours in steps of fifteen seconds, the interval at which every process looks for new keys.
  for (let step = 0; step < 3 * 240; step++) {
    clock.advance(15_000)
    await Promise.all([svc, replica].map(looked))
    mock.timers.tick(15_000)
    if (step === 300) await runCommandOn(svc, 'keys:rotate')
    const fresh = await machineToken(step % 2 ? svc : replica)
    used.add(decodeProtectedHeader(fresh).kid)
    issued.push({ token: fresh, until: clock.now() + 14 * 60_000 })
    while ((issued[0]?.until ?? 0) < clock.now()) issued.shift()
    for (const each of [fresh, issued[0]?.token ?? fresh]) {
      await jwtVerify(each, keys, { issuer: url, audience, typ: 'at+jwt' })
      verified++
    }
  }
  t.equal(verified, 3 * 240 * 2)
  t.ok(used.size >= 4, `${used.size} keys have signed`)
})

/** The same token with another key id in its header. */
function withKid(token: string, kid: string): string {
  const [, ...rest] = token.split('.')
  const header = { ...decodeProtectedHeader(token), kid }
  return [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.')
}
