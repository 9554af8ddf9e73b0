// engine: none
import t from 'tap'
import { ClientLimits } from '../../../../src/features/oauth/clients/client-limits.ts'
import { metadataOf, secretHash } from '../../../../src/features/oauth/clients/clients.ts'
import { ConfigError } from '../../../../src/platform/config/config-error.ts'
import { DatabaseCounters } from '../../../../src/platform/limits/database-counters.ts'
import { type Settings, testConfig } from '../../../support/app.ts'
import { buildServer, machine, newKey, scopes, secret } from './parties.ts'

const keys = { keys: await Promise.all(['ES256', 'RS256', 'EdDSA'].map(async (alg) => (await newKey(alg)).jwk)) }

/** One value of each of these. */
const combined = (...choices: Settings[][]): Settings[] =>
  choices.reduce<Settings[]>((all, next) => all.flatMap((one) => next.map((more) => ({ ...one, ...more }))), [{}])

const grants = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'device_code',
  'password',
  'token_exchange',
]
const uris =
  `https://a.example/cb https://a.example/cb?x=1 http://a.example/cb http://localhost/cb http://localhost:9/cb
  http://127.0.0.1/cb http://127.0.0.2/cb http://[::1]:7/cb http://app.localhost/cb https://localhost/cb com.example:/cb
  com.example.app:/cb com.example.app://host/cb app:/cb javascript:alert(1) data:text/html,x file:///etc/passwd blob:x
  about:blank urn:ietf:wg:oauth:2.0:oob ftp://a.example/cb https://a.example/cb#x https://a.example/cb# https://a.example
  https://user:pass@a.example/cb https://*.example/cb java.script:/x vbscript.x:/cb`.split(/\s+/)

t.test('accepts in oidc-provider every client that the configuration accepts', async (t) => {
  const svc = await buildServer(t, [])
  const { provider } = await svc.app.oauth.current()
  const credentials: Settings[] = [
    { type: 'public' },
    { type: 'confidential' },
    { type: 'confidential', secret },
    { type: 'confidential', secret: 'gehéim' },
    { type: 'confidential', secret_hash: secretHash(secret) },
    { type: 'confidential', jwks: keys },
    { type: 'confidential', jwks: keys, secret, token_endpoint_auth_method: 'private_key_jwt' },
    { type: 'confidential', jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'a', y: 'b' }] } },
    { type: 'confidential', jwks: { keys: [{ ...keys.keys[0], kid: 7 }] } },
    { type: 'confidential', jwks: { keys: [{ ...keys.keys[1], k: 'x' }] } },
    { type: 'confidential', jwks_uri: 'https://a.example/jwks' },
    { type: 'confidential', jwks_uri: 'ftp://a.example/jwks' },
  ]
  const files = [
    ...combined(
      credentials,
      [{}, { dpop: true }, { fapi: true }, { require_par: true }],
      grants.map((grant) => ({ grants: [grant] })),
      [{}, { redirect_uris: ['https://a.example/cb'] }],
    ),
    ...combined(
      [{ type: 'public', grants: ['authorization_code'] }],
      [{}, { application_type: 'native' }],
      ['redirect_uris', 'post_logout_redirect_uris'].flatMap((name) =>
        uris.map((uri) => ({ redirect_uris: ['https://a.example/x'], [name]: [uri] })),
      ),
    ),
    ...combined(
      [machine('x')],
      [{}, { id_token_signed_response_alg: 'ES256' }, { id_token_signed_response_alg: 'HS256' }],
      [{}, { backchannel_logout_uri: 'https://a.example/x' }, { backchannel_logout_uri: 'com.example:/x' }],
      ['a', 'a b', 'ä', '%00', 'https://a.example', '"', "'"].map((client_id) => ({ client_id })),
    ),
  ]
  let taken = 0
  for (const client of files) {
    const settings = JSON.parse(JSON.stringify({ scopes, clients: [{ client_id: 'x', ...client }] }))
    try {
      const [found] = testConfig(settings).current().clients
      if (found) Reflect.construct(provider.Client, [metadataOf(found)])
      taken++
    } catch (error) {
      if (error instanceof ConfigError && error.problems.every(({ line }) => line > 0)) continue
      t.fail(`${JSON.stringify(client)}: ${error}`)
    }
  }
  t.ok(taken > 100 && taken < files.length - 100, `${taken} of ${files.length} are valid`)
})

t.test('answers no more than the limit of concurrent attempts', async (t) => {
  const svc = await buildServer(t, [], { settings: { rate_limits: { token: '5/1m' } } })
  const limits = new ClientLimits(new DatabaseCounters(svc.database), svc.config, svc.clock)
  const name = limits.nameOf('a', '198.51.100.7')
  t.equal(await limits.attempt(name, true), true)
  t.equal(await svc.database.prisma.loginLimit.count(), 0, 'a success costs nothing')
  const guesses = Array.from({ length: 20 }, (_, n) => limits.attempt(name, n === 19))
  const results = await Promise.allSettled(guesses)
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 5)
  await t.rejects(limits.check(name), { message: /Too many failed/ })
  await t.resolves(limits.check(limits.nameOf('b', '198.51.100.7')))
  t.equal(limits.nameOf('a', '2001:db8::1'), limits.nameOf('a', '2001:db8::2'), 'the network of one customer')
})
