// engine: none
import type { FastifyRequest, LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { seed } from '../../../platform/http/odd-requests.ts'
import { testConfig } from '../../../support/app.ts'
import { clients, machineRequest, settings } from './machine-requests.ts'
import { buildServer, machine, post, secret } from './parties.ts'

const requests = Number(process.env.SVC_TEST_REQUESTS ?? 2_500)
const atOnce = 100

/** Sends a request to the library, although svc could answer it. */
const toLibrary = { 'x-test-library': '1' }

const parsed = (part: string | undefined): unknown => JSON.parse(Buffer.from(part ?? '', 'base64url').toString())

/** The bytes of an answer, with the random parts replaced by their lengths. */
function comparable({ statusCode, headers, body }: LightMyRequestResponse): string {
  const { date: _date, 'content-length': length, 'dpop-nonce': nonce, ...others } = headers
  const token = /"access_token":"([\w-]+)\.([\w-]+)\.([\w-]+)"/.exec(body)
  const [, header, claims, signature] = token ?? []
  const place = /"idx":\d+/.exec(Buffer.from(claims ?? '', 'base64url').toString())?.[0]
  const shown = Buffer.from(claims ?? '', 'base64url')
    .toString()
    .replace(/"jti":"([\w-]+)"/, (_all, jti) => `"jti":${jti.length}`)
    .replace(/"idx":\d+/, '"idx"')
  return JSON.stringify([
    statusCode,
    others,
    nonce === undefined,
    // The place in a status list is a random number.
    place === undefined ? length : 'any length',
    token ? body.replace(token[0], '') : body,
    token ? [header, shown, signature?.length] : null,
  ])
}

t.test('answers client credentials requests exactly as oidc-provider does', async (t) => {
  const svc = await buildServer(t, clients, { settings })
  const protocol = await svc.app.oauth.current()
  const own = protocol.clientCredentials.answer.bind(protocol.clientCredentials)
  let issued = 0
  protocol.clientCredentials.answer = async (request: FastifyRequest, form: string) => {
    const answer = 'x-test-library' in request.headers ? null : await own(request, form)
    if (answer) issued++
    return answer
  }
  const differences: object[] = []
  let accepted = 0
  for (let i = 0; i < requests; i += atOnce) {
    const asked = Array.from({ length: atOnce }, machineRequest)
    const answers = await Promise.all(
      asked.map((request) =>
        Promise.all([
          svc.app.inject(request),
          svc.app.inject({ ...request, headers: { ...request.headers, ...toLibrary } }),
        ]),
      ),
    )
    for (const [j, [ours, theirs]] of answers.entries()) {
      if (ours.statusCode === 200) accepted++
      if (comparable(ours) !== comparable(theirs))
        differences.push({ request: asked[j], ours: comparable(ours), theirs: comparable(theirs) })
    }
  }
  t.same(differences.slice(0, 3), [], `seed ${seed}`)
  t.ok(issued > requests / 10, `svc issued ${issued} tokens`)
  t.ok(accepted > issued, `the library accepted ${accepted - issued} other requests`)
})

t.test('applies a reload to the next request', async (t) => {
  const one = (more: object) => ({ settings: { ...settings, clients: [machine('several', { secret, ...more })] } })
  const svc = await buildServer(t, clients, { settings })
  const ask = async (scope: string, client_secret = secret) => {
    const fields = { grant_type: 'client_credentials', client_id: 'several', client_secret, scope }
    const answer = await post(svc, '/oauth/token', fields)
    return [answer.statusCode, answer.json().error ?? answer.json().expires_in]
  }
  const reload = (more: object) => {
    const { clients: swapped } = testConfig(one(more).settings).current()
    svc.config.swap({ ...svc.config.current(), clients: swapped })
  }
  t.same(await ask('orders:read'), [200, 900])
  t.same(await ask('mail:read'), [200, 900])
  reload({ scopes: ['mail:read'], access_token_ttl: '90s' })
  t.same(await ask('orders:read'), [400, 'invalid_scope'])
  t.same(await ask('mail:read'), [200, 90])
  reload({ scopes: ['mail:read'], secret: 'another-secret-that-is-long-enough' })
  t.same(await ask('mail:read'), [401, 'invalid_client'])
  reload({ scopes: ['mail:read'], grants: ['password'] })
  t.same(await ask('mail:read'), [400, 'unauthorized_client'])
})

t.test('signs tokens that verify with the published keys', async (t) => {
  const svc = await buildServer(t, clients, { settings })
  for (const [scope, alg] of [
    ['orders:read', 'ES256'],
    ['stock:read', 'RS256'],
    ['mail:read', 'EdDSA'],
  ] as const) {
    const answer = await svc.app.inject({
      method: 'POST',
      url: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: `grant_type=client_credentials&client_id=several&client_secret=a-secret-that-is-long-enough&scope=${scope}`,
    })
    t.equal(answer.statusCode, 200)
    const token: string = answer.json().access_token
    t.match(parsed(token.split('.')[0]), { alg, typ: 'at+jwt', kid: String })
    const live = await svc.app.oauth.findLive(token)
    t.match(live?.claims, { sub: 'several', client_id: 'several', scope, gty: 'client_credentials' })
    const forged = `${token.slice(0, -8)}AAAAAAAA`
    t.equal(await svc.app.oauth.findLive(forged), null)
  }
})
