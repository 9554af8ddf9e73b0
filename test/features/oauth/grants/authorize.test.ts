// engine: none
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { oauthSettings, Person, pkce, request, response, type WalkResult } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const spa = 'https://spa.example/cb'

/** Redirect URIs that a careless comparison takes for the registered one. */
const tricks = [
  ...[
    '/',
    '/x',
    '?',
    '?x=1',
    '#',
    '#x',
    '/../cb',
    '/..',
    ';x',
    '%00',
    '%20',
    ' ',
    '\t',
    '\n',
    '%2f',
    '/%2e%2e/cb',
    '.',
  ],
  ...['\\', '\\@evil.example', '@evil.example', '.evil.example', ':443', '&x=1', '%0d%0aLocation:%20//evil.example'],
].map((suffix) => spa + suffix)
const others = [
  ...['https://SPA.example/cb', 'HTTPS://spa.example/cb', 'https://spa.example/CB', 'https://spa.example:443/cb'],
  ...['https://spa.example:8443/cb', 'http://spa.example/cb', 'https://spa.example', 'https://spa.example/'],
  ...['https://spa.example//cb', 'https://spa.example/./cb', 'https://spa.example/a/../cb', 'https://spa.example/c%62'],
  ...['https://spa.example\\cb', 'https:\\\\spa.example\\cb', 'https:/spa.example/cb', 'https:spa.example/cb'],
  ...['//spa.example/cb', '/cb', 'cb', 'spa.example/cb', 'https:///spa.example/cb', ' https://spa.example/cb'],
  ...[
    'https://evil.example/cb',
    'https://evil.example/https://spa.example/cb',
    'https://evil.example?https://spa.example/cb',
  ],
  ...[
    'https://evil.example#https://spa.example/cb',
    'https://evil.example\\.spa.example/cb',
    'https://evilspa.example/cb',
  ],
  ...['https://user@spa.example/cb', 'https://spa.example@evil.example/cb', 'https://spa.example:pw@evil.example/cb'],
  ...[
    'https://spa.example%2eevil.example/cb',
    'https://spa.example%00.evil.example/cb',
    'https://spa.example%23.evil.example',
  ],
  ...[
    'https://spa。example/cb',
    'https://spa.example./cb',
    'https://xn--spa.example/cb',
    'https://spa.exampl\u0435/cb',
  ],
  ...['https://www.spa.example/cb', 'https://a.spa.example/cb', 'https://[::1]/cb', 'https://127.0.0.1/cb'],
  ...[
    'javascript:alert(1)//https://spa.example/cb',
    'data:text/html,x',
    'file:///etc/passwd',
    'blob:https://spa.example/cb',
  ],
  ...[
    'vbscript:x',
    'about:blank',
    'ws://spa.example/cb',
    'com.example.app:/cb',
    'urn:ietf:wg:oauth:2.0:oob',
    'null',
    '*',
  ],
  ...[
    'https://spa.example/cb https://evil.example/',
    'https://spa.example/cb,https://evil.example/',
    'https://spa.example/*',
  ],
]
/** Not covered by a native client's loopback addresses (RFC 8252 section 7.3). */
const native = [
  ...[
    'http://127.0.0.1:9/other',
    'http://localhost/cb',
    'http://localhost:9/cb',
    'https://127.0.0.1:9/cb',
    'http://127.0.0.1:9/cb?x',
  ],
  ...[
    'http://127.0.0.2:9/cb',
    'http://127.1:9/cb',
    'http://0x7f000001/cb',
    'http://2130706433/cb',
    'http://127.0.0.1.evil.example/cb',
  ],
  ...[
    'http://127.0.0.1:9@evil.example/cb',
    'http://evil@127.0.0.1:9/cb',
    'http://127.0.0.1:99999/cb',
    'http://[::2]:9/cb',
  ],
  ...[
    'http://[::ffff:127.0.0.1]/cb',
    'http://127.0.0.1:9/cb#x',
    'http://127.0.0.1:9/cb/',
    'com.example.app:/other',
    'com.example.app://cb',
  ],
  ...[
    'com.example.app:/cb/',
    'com.example.app:/cb?x',
    'COM.example.app:/cb',
    'com.evil.app:/cb',
    'http://127.0.0.1\\@evil.example/cb',
  ],
]

t.test('compares redirect URIs exactly and shows an error page otherwise', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const check = async (name: string, query: Record<string, string> | string) => {
    const { answer, out, page } = await ada.authorize(query)
    t.match({ page, out, status: answer.statusCode }, { page: 'Error', out: null, status: 400 }, name)
    t.equal(answer.headers.location, undefined, name)
  }
  for (const uri of [...tricks, ...others]) await check(JSON.stringify(uri), request('spa', { redirect_uri: uri }))
  for (const uri of native) await check(JSON.stringify(uri), request('app', { redirect_uri: uri }))
  for (const uri of tricks) {
    await check(
      `with an error of its own: ${JSON.stringify(uri)}`,
      request('spa', { redirect_uri: uri, scope: 'none:such' }),
    )
  }
  await check('an unknown client', request('spa', { client_id: 'unknown' }))
  await check("svc's own client", request('spa', { client_id: 'svc-personal' }))
  await check('a client without the grant', request('machine', { redirect_uri: spa }))
  await check('no client', request('spa', { client_id: '' }))
  await check('missing, with three registered', request('app', { redirect_uri: '' }))
  const query = new URLSearchParams(request('spa'))
  await check('client_id twice', `${query}&client_id=web`)
  for (const evil of [`${query}&redirect_uri=https://evil.example/`, `redirect_uri=https://evil.example/&${query}`]) {
    const { out } = await ada.authorize(evil)
    t.match(out?.href, `${spa}?error=invalid_request`, 'two redirect URIs: the error goes to the registered one')
  }

  for (const uri of ['http://127.0.0.1:9/cb', 'http://127.0.0.1/cb', 'http://[::1]:50000/cb', 'com.example.app:/cb']) {
    const stop = await ada.authorize(request('app', { redirect_uri: uri, prompt: 'none' }))
    t.match(stop.out?.href, new RegExp(`^${uri.replace(/[[\]]/g, '\\$&')}\\?error=interaction_required`), uri)
  }
})

t.test('reports other errors to the client, with state and issuer', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const told = async (name: string, query: Record<string, string> | string, error: string) => {
    const stop: WalkResult = await ada.authorize(query)
    const expected = { error, state: 'the-state', iss: 'http://localhost:8000', code: undefined }
    t.match(response(stop), expected, name)
    t.equal(stop.out && stop.out.origin + stop.out.pathname, spa, name)
  }
  const without = { code_challenge: '', code_challenge_method: '' }
  const cases: [string, Record<string, string>, string][] = [
    ['a public client without PKCE', without, 'invalid_request'],
    ['plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a challenge without its method', { code_challenge_method: '' }, 'invalid_request'],
    ['a method without a challenge', { code_challenge: '' }, 'invalid_request'],
    ['an invalid challenge', { code_challenge: 'short' }, 'invalid_request'],
    ['an unlisted API scope', { scope: 'openid stock:read' }, 'invalid_scope'],
    ['roles, which is not listed', { scope: 'openid roles' }, 'invalid_scope'],
    ['an invalid list of scopes', { scope: 'openid "email"' }, 'invalid_scope'],
    ['implicit', { response_type: 'token', scope: 'openid' }, 'unsupported_response_type'],
    ['hybrid', { response_type: 'code id_token', scope: 'openid', nonce: 'n' }, 'unsupported_response_type'],
    ['no response', { response_type: 'none' }, 'unsupported_response_type'],
    ['an empty response type', { response_type: '' }, 'invalid_request'],
    ['two prompts that exclude each other', { prompt: 'none login' }, 'invalid_request'],
    ['an unknown prompt', { prompt: 'maybe' }, 'invalid_request'],
    ['an invalid max_age', { scope: 'openid', max_age: '-1' }, 'invalid_request'],
    ['another resource', { resource: 'https://elsewhere.example' }, 'invalid_target'],
    ['a request object', { request: 'e30.e30.e30' }, 'request_not_supported'],
    ['registration in passing', { registration: '{}' }, 'registration_not_supported'],
    ['another response mode', { response_mode: 'web_message' }, 'unsupported_response_mode'],
    ['invalid claims', { scope: 'openid', claims: '[' }, 'invalid_request'],
    ['an unsigned hint', { scope: 'openid', id_token_hint: 'e30.e30.e30' }, 'invalid_request'],
  ]
  for (const [name, more, error] of cases) await told(name, request('spa', more), error)
  const query = new URLSearchParams(request('spa', { scope: 'openid' }))
  for (const name of ['scope', 'response_type', 'code_challenge', 'code_challenge_method', 'prompt', 'nonce']) {
    query.set(name, query.get(name) ?? 'none')
    await told(`${name} twice`, `${query}&${name}=${encodeURIComponent(query.get(name) ?? '')}`, 'invalid_request')
  }
  const sent = await ada.authorize(`${new URLSearchParams(request('web', { code_challenge_method: 'plain' }))}`)
  t.match(response(sent), { error: 'invalid_request' }, 'plain is rejected where PKCE is optional')
  const twice = await ada.authorize(`${query}&state=another`)
  t.match(response(twice), { error: 'invalid_request', state: undefined }, 'a repeated state is dropped')
})

t.test('prevents framing and caching of authorization pages', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const asked = await ada.authorize(request('web', { scope: 'openid' }))
  const consent = await ada.decide(asked, 'nothing yet')
  const shown = await ada.authorize(request('web', { scope: 'openid orders:read' }))
  t.equal(shown.page, 'Authorize')
  t.ok(consent)
  for (const stop of [asked, shown, await ada.authorize({ client_id: 'unknown' }), await ada.go('/oauth/device')]) {
    t.match(stop.answer.headers, { 'cache-control': /no-store/, 'x-frame-options': 'DENY' }, `${stop.page}`)
    t.match(stop.answer.headers['content-security-policy'], /frame-ancestors 'none'/, `${stop.page}`)
    t.match(stop.answer.headers['referrer-policy'], /no-referrer|same-origin/, `${stop.page}`)
  }
})

t.test('repeats a request that another site posts as GET, with the session', async (t) => {
  const url = 'https://id.example'
  const settings = { ...oauthSettings, app: { url }, session: { same_site: 'lax' } }
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const form = new URLSearchParams(request('spa', { scope: 'openid', prompt: 'none' }))
  const posted = (headers: Record<string, string>) =>
    svc.app.inject({
      method: 'POST',
      url: '/oauth/authorize',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html', ...headers },
      payload: form.toString(),
    })
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://spa.example' }, { origin: 'null' }]) {
    const answer = await posted(headers)
    t.match([answer.statusCode, answer.headers.location], [303, `/oauth/authorize?${form}`], JSON.stringify(headers))
  }
  for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { origin: url }]) {
    const answer = await posted(headers)
    t.match(answer.headers.location, /error=login_required/, JSON.stringify(headers))
  }
  const plain = await buildTestApp(t, { settings: oauthSettings, clock: svc.clock })
  const answer = await plain.app.inject({ method: 'POST', url: '/oauth/authorize', payload: pkce })
  t.ok([404, 405].includes(answer.statusCode), `off without https: ${answer.statusCode}`)
})
