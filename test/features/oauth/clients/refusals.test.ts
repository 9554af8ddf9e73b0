// engine: none
import t from 'tap'
import type { TestApp } from '../../../support/app.ts'
import { callback, Person, pkce } from '../../../support/oauth.ts'
import { assertion, basic, buildServer, credentials, machine, newKey, post, secret } from './parties.ts'

const spa = { type: 'public', grants: ['authorization_code'], redirect_uris: [callback] }
const clients = [
  { client_id: 'spa', ...spa },
  machine('robot'),
  machine('keyed', { jwks_uri: 'http://127.0.0.1:9/jwks.json' }),
]

const warnings = (svc: TestApp, start: number) =>
  svc.logs
    .slice(start)
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => /^(OAuth request|Outbound call) /.test(msg ?? ''))

t.test('shows developers why svc knows no client or no redirect URI', async (t) => {
  const svc = await buildServer(t, clients)
  const visitor = new Person(svc, (await svc.createUser()).email)
  const asked = { client_id: 'spa', response_type: 'code', redirect_uri: callback, scope: 'openid', ...pkce }
  const cases = [
    [{ ...asked, client_id: 'nope' }, /<code>invalid_client: no client with this client_id is registered<\/code>/],
    [{ ...asked, redirect_uri: `${callback}/x` }, /<code>invalid_redirect_uri: redirect_uri did not match any/],
  ] as const
  for (const [query, details] of cases) {
    const { answer } = await visitor.authorize(query)
    t.equal(answer.statusCode, 400)
    t.match(answer.body, details)
  }
})

t.test('logs a rejected OAuth request with the client, the reason and the key to change', async (t) => {
  const svc = await buildServer(t, clients)
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const asked = { client_id: 'spa', response_type: 'code', redirect_uri: callback, scope: 'openid', ...pkce }
  const robot = basic('robot', secret)
  const of = (client: string, key: string) => `clients[client_id=${client}].${key}`
  const cases: [string, () => Promise<unknown>, object][] = [
    [
      'redirect_uri',
      () => ada.authorize({ ...asked, redirect_uri: 'https://evil.example/cb?token=hidden' }),
      { client: 'spa', reason: /https:\/\/evil\.example\/cb is not/, config_key: of('spa', 'redirect_uris') },
    ],
    [
      'the same in one line',
      () => ada.authorize({ ...asked, redirect_uri: 'https://evil.example/cb' }),
      {
        msg: /^OAuth request refused \(invalid_redirect_uri, client spa\): redirect_uri https:\/\/evil\.example\/cb is not registered; see clients/,
        error: 'invalid_redirect_uri',
        redirect_uri: 'https://evil.example/cb',
      },
    ],
    [
      'a redirect URI after sign-out',
      () => ada.go('/oauth/logout?client_id=spa&post_logout_redirect_uri=https%3A%2F%2Fevil.example%2Fout%3Fx'),
      {
        client: 'spa',
        error: 'invalid_request',
        redirect_uri: 'https://evil.example/out',
        config_key: of('spa', 'post_logout_redirect_uris'),
      },
    ],
    [
      'scope',
      () => post(svc, '/oauth/token', { ...credentials, scope: 'roles' }, robot),
      { client: 'robot', reason: /scope roles/, config_key: of('robot', 'scopes') },
    ],
    [
      'grant',
      () => post(svc, '/oauth/token', { grant_type: 'password', username: 'a', password: 'b' }, robot),
      { client: 'robot', reason: /grant password/, config_key: of('robot', 'grants') },
    ],
    [
      'PKCE',
      () => ada.authorize({ ...asked, code_challenge: '', code_challenge_method: '' }),
      { client: 'spa', reason: /PKCE/, config_key: of('spa', 'type') },
    ],
    [
      'CORS',
      () => post(svc, '/oauth/token', { client_id: 'spa', grant_type: 'x' }, { origin: 'https://evil.example' }),
      { client: 'spa', reason: /origin https:\/\/evil\.example not allowed/, config_key: of('spa', 'cors_origins') },
    ],
    [
      'authentication',
      () => post(svc, '/oauth/token', credentials, basic('robot', 'a-wrong-secret')),
      { client: 'robot', reason: /authentication failed: invalid secret/, config_key: /secret_hash/ },
    ],
    [
      'an unknown client',
      () => post(svc, '/oauth/token', { ...credentials, client_id: 'unknown', client_secret: 'x' }),
      { client: 'unknown', config_key: 'clients' },
    ],
  ]
  for (const [name, act, facts] of cases) {
    const start = svc.logs.length
    await act()
    const found = warnings(svc, start)
    t.equal(found.length, 1, name)
    t.match(found[0], { level: 'warn', ...facts }, name)
  }
  t.notMatch(svc.logs.join(''), /a-wrong-secret|token=hidden/, 'no secret is logged')
})

t.test('logs a rejected outbound call with the client, the address and the key to change', async (t) => {
  const svc = await buildServer(t, clients)
  const start = svc.logs.length
  await post(svc, '/oauth/token', { ...credentials, ...(await assertion(await newKey('ES256'), 'keyed')) })
  t.match(
    warnings(svc, start).find(({ msg }) => msg.startsWith('Outbound')),
    {
      client: 'keyed',
      url: 'http://127.0.0.1:9/jwks.json',
      reason: /not a public address/,
      config_key: /clients\[client_id=keyed\]\.allow_private_addresses or outbound\.allow_private/,
    },
  )
})
