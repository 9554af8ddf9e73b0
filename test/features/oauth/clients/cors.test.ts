// engine: none
import t from 'tap'
import type { Settings } from '../../../support/app.ts'
import { callback, Person, pkce, response, verifier } from '../../../support/oauth.ts'
import { buildServer, post } from './parties.ts'

const code = { type: 'public', grants: ['authorization_code', 'refresh_token'], redirect_uris: [callback] }
const clients: Settings[] = [
  { client_id: 'spa', ...code },
  { client_id: 'named', ...code, cors_origins: ['https://page.example'] },
  { client_id: 'closed', ...code, cors_origins: [] },
]
const own = 'http://localhost:9999'
/** First-party pages, which may read svc's own routes. */
const first = 'http://localhost:5173'
const evil = 'https://evil.example'

t.test('answers cross-origin requests to OAuth endpoints by client', async (t) => {
  const svc = await buildServer(t, clients)
  const allowedAt = (answer: { headers: Record<string, unknown> }) => [
    answer.headers['access-control-allow-origin'],
    answer.headers['access-control-allow-credentials'],
  ]
  for (const url of ['/.well-known/openid-configuration', '/.well-known/jwks.json']) {
    for (const [origin, credentials] of [
      [own, 'true'],
      [first, undefined],
      [evil, undefined],
    ] as const) {
      const answer = await svc.app.inject({ url, headers: { origin } })
      t.equal(answer.statusCode, 200)
      t.same(allowedAt(answer), [origin, credentials], `${url} allows every origin, with credentials those of clients`)
    }
  }
  for (const url of ['/oauth/token', '/oauth/userinfo', '/oauth/revoke', '/oauth/introspect', '/oauth/par']) {
    const answer = await svc.app.inject({
      method: 'OPTIONS',
      url,
      headers: { origin: own, 'access-control-request-method': 'POST', 'access-control-request-headers': 'dpop' },
    })
    t.equal(answer.statusCode, 204, `preflight of ${url}`)
    t.same(allowedAt(answer), [own, 'true'])
    t.equal(answer.headers['access-control-allow-headers'], 'dpop')
    t.match(answer.headers['access-control-allow-methods'], /POST/)
    t.match(answer.headers.vary, /Origin/)
  }

  const ask = (client_id: string, origin: string) =>
    post(svc, '/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x', client_id }, { origin })
  for (const [client, origin] of [
    ['spa', own],
    ['named', 'https://page.example'],
  ] as const) {
    const answer = await ask(client, origin)
    t.same([answer.json().error, ...allowedAt(answer)], ['invalid_grant', origin, 'true'], `${client} at ${origin}`)
    t.match(answer.headers['access-control-expose-headers'], /DPoP-Nonce/i)
  }
  for (const [client, origin] of [
    ['spa', first],
    ['spa', evil],
    ['spa', 'null'],
    ['spa', 'http://localhost:9998'],
    ['named', own],
    ['closed', own],
  ] as const) {
    const answer = await ask(client, origin)
    t.same([answer.statusCode, ...allowedAt(answer)], [400, undefined, undefined], `${client} at ${origin}`)
  }

  const { email } = await svc.createUser()
  const asked = { client_id: 'spa', response_type: 'code', redirect_uri: callback, scope: 'openid', ...pkce }
  const found = response(await new Person(svc, email).allow(asked))
  const fields = { grant_type: 'authorization_code', redirect_uri: callback, client_id: 'spa', code_verifier: verifier }
  const redeemed = await post(svc, '/oauth/token', { ...fields, code: found.code ?? '' }, { origin: own })
  t.same([redeemed.statusCode, ...allowedAt(redeemed)], [200, own, 'true'])
  const info = (origin: string) =>
    svc.app.inject({
      url: '/oauth/userinfo',
      headers: { origin, authorization: `Bearer ${redeemed.json().access_token}` },
    })
  t.same([(await info(own)).statusCode, ...allowedAt(await info(own))], [200, own, 'true'])
  for (const origin of [first, evil]) {
    const answer = await info(origin)
    t.same([answer.statusCode, ...allowedAt(answer)], [400, undefined, undefined], 'and not to other pages')
  }
  for (const url of ['/oauth/authorize', '/oauth/logout', '/oauth/device']) {
    const answer = await svc.app.inject({ url, headers: { origin: first } })
    t.same(allowedAt(answer), [undefined, undefined], `${url} is a page`)
  }
  const native = await svc.app.inject({ url: '/api/user', headers: { origin: first } })
  t.same(allowedAt(native), [first, 'true'], "svc's own routes have separate rules")
})
