// engine: none
import t, { type Test } from 'tap'
import { buildTestApp, type Settings } from '../../../support/app.ts'
import { minute } from '../../../support/clock.ts'
import { DocumentHost, loopback, openTo } from '../../../support/document-host.ts'
import { Person, pkce, response, verifier } from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { assertion, newKey, post } from '../clients/parties.ts'

async function start(t: Test, settings: Settings = {}) {
  const host = await DocumentHost.start(t)
  const svc = await buildTestApp(t, { settings: openTo(settings), clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const authorize = (client_id: string, redirect_uri = loopback) =>
    ada.authorize({ client_id, response_type: 'code', redirect_uri, scope: 'orders:read', ...pkce })
  /** The reason on the error page, or the title of another page. */
  const outcome = async (client_id: string, redirect_uri = loopback) => {
    // Apart, because svc limits the documents that an address can add.
    travel(svc, minute / 2)
    const { page, answer } = await authorize(client_id, redirect_uri)
    return /<code>(.*?)<\/code>/s.exec(answer.body)?.[1] ?? page
  }
  const logged = () => svc.logs.findLast((line) => line.includes('OAuth request refused')) ?? ''
  return { host, svc, ada, authorize, outcome, logged }
}

t.test('refuses URLs that are not those of a document', async (t) => {
  const { host, outcome, logged } = await start(t)
  host.serve('/client.json')
  const at = host.origin()
  const bad = {
    [`http://localhost:${host.port}/client.json`]: /no client with this client_id is registered/,
    [`${at}`]: /must have a path/,
    [`${at}/`]: /must have a path/,
    [`${at}/client.json#part`]: /must not have a fragment/,
    [`https://ada@localhost:${host.port}/client.json`]: /must not contain a user name/,
    [`https://ada:pw@localhost:${host.port}/client.json`]: /must not contain a user name/,
    [`${at}/a/../client.json`]: /normalized form/,
    [`${at}/./client.json`]: /normalized form/,
    [`${at}/a/%2e%2e/client.json`]: /normalized form/,
    [`https://LOCALHOST:${host.port}/client.json`]: /normalized form/,
    [`HTTPS://localhost:${host.port}/client.json`]: /normalized form/,
    [`https:\\\\localhost:${host.port}/client.json`]: /no client with this client_id is registered/,
    'https://client.example:443/client.json': /normalized form/,
    'https://cliént.example/client.json': /normalized form/,
    'https://[::1/client.json': /must be a URL/,
    [`${at}/${'x'.repeat(256)}`]: /must have at most 255 characters/,
    'urn:example:client': /no client with this client_id is registered/,
  }
  for (const [client_id, reason] of Object.entries(bad)) t.match(await outcome(client_id), reason, client_id)
  t.equal(host.calls.length, 0, 'svc fetched nothing')
  t.match(logged(), /OAuth request refused/)
})

t.test('refuses documents that are not valid, and says why', async (t) => {
  const { host, outcome, logged } = await start(t, { max_size: 2_048 })
  const key = await newKey('ES256')
  const bad: [object, RegExp][] = [
    [{ client_id: `${host.origin()}/other.json` }, /its client_id is not its own URL/],
    [{ client_id: undefined }, /its client_id is not its own URL/],
    [{ client_secret: 'x' }, /client_secret, although anyone can read it/],
    [{ token_endpoint_auth_method: 'client_secret_basic' }, /must be none or private_key_jwt/],
    [{ token_endpoint_auth_method: 'tls_client_auth' }, /must be none or private_key_jwt/],
    [{ token_endpoint_auth_method: 'private_key_jwt' }, /needs jwks or jwks_uri/],
    [{ jwks: { keys: [key.jwk] }, jwks_uri: `${host.origin()}/jwks` }, /both jwks and jwks_uri/],
    [{ jwks_uri: 'http://localhost/jwks' }, /jwks_uri must have the origin of the document/],
    [{ redirect_uris: undefined }, /redirect_uris is missing/],
    [{ redirect_uris: [] }, /redirect_uris is missing/],
    [{ redirect_uris: loopback }, /redirect_uris must be a list of strings/],
    [{ redirect_uris: [7] }, /redirect_uris must be a list of strings/],
    [{ redirect_uris: ['https://elsewhere.example/cb'] }, /no entry of redirect_uris is on localhost/],
    [{ redirect_uris: ['com.example.app:/cb', 'cursor://cb', 'javascript:alert(1)'] }, /no entry of redirect_uris/],
    [{ redirect_uris: ['http://127.0.0.2/cb', 'http://10.0.0.1/cb'] }, /no entry of redirect_uris/],
    [{ redirect_uris: [`${loopback}#x`, 'not a uri'] }, /no entry of redirect_uris/],
    [{ grant_types: ['client_credentials'] }, /grant_types must have authorization_code/],
    [{ response_types: ['token'] }, /response_types must have code/],
    [{ client_name: { en: 'x' } }, /client_name must be a string/],
    [{ dpop_bound_access_tokens: 'yes' }, /dpop_bound_access_tokens must be true or false/],
    [{ jwks_uri: 'https://127.0.0.1/jwks' }, /jwks_uri must have the origin of the document/],
    [{ jwks: 'x' }, /jwks must be an object/],
    [{ jwks: {} }, /jwks must have at most 20 keys/],
    [{ jwks: { keys: [{ kty: { a: {} } }] } }, /jwks must have at most 20 keys/],
    [{ jwks: { keys: [{ kty: 'EC', x: [{}] }] } }, /jwks must have at most 20 keys/],
    [{ jwks: { keys: Array(21).fill({ kty: 'EC' }) } }, /jwks must have at most 20 keys/],
    [
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } },
      /not valid: client JSON Web Key Set is invalid/,
    ],
    [{ client_name: 'x'.repeat(2_100) }, /larger than 2048 bytes/],
  ]
  for (const [index, [members, reason]] of bad.entries()) {
    t.match(await outcome(host.serve(`/bad${index}`, members)), reason, JSON.stringify(members).slice(0, 80))
  }
  t.match(logged(), /OAuth request refused \(invalid_client, client https.*larger than 2048 bytes.*max_size/)

  const texts = { '/text': 'x', '/list': '[]', '/null': 'null', '/number': '1' }
  for (const [path, body] of Object.entries(texts)) {
    host.answer(path, (_, response) => response.setHeader('content-type', 'application/json').end(body))
    t.match(await outcome(host.origin() + path), /not (JSON|a JSON object)/, path)
  }
})

t.test('reads nothing that a host does not serve as a document', async (t) => {
  const { host, outcome } = await start(t)
  const client_id = host.serve('/target.json')
  for (const type of ['text/html', 'text/plain; charset=utf-8', '', 'application/jsonp', 'image/json']) {
    const id = host.serve('/typed.json', {}, { 'content-type': type })
    t.match(await outcome(id), /Content-Type must be application\/json/, type || '(none)')
  }
  for (const status of [201, 204, 301, 302, 303, 307, 308, 400, 401, 403, 404, 410]) {
    host.answer('/status', (_, response) => response.writeHead(status, { location: client_id }).end())
    t.match(await outcome(`${host.origin()}/status`), new RegExp(`answers with status ${status}`), String(status))
  }
  t.equal(host.callsTo('/target.json'), 0, 'svc follows no redirects')
  t.ok(
    host.calls.every(({ headers }) => headers.cookie === undefined && headers.authorization === undefined),
    'svc sends no credentials',
  )
  const types = ['application/json', 'application/json;charset=utf-8', 'application/client-metadata+json']
  for (const type of types) {
    const id = host.serve(`/typed${types.indexOf(type)}`, {}, { 'content-type': type })
    t.equal(await outcome(id), 'Authorize', type)
  }
})

t.test('accepts the redirect URIs of the own origin, of loopback and of allowed hosts', async (t) => {
  const { host, outcome } = await start(t, { redirect_hosts: ['app.example', '*.corp.example'] })
  const own = `${host.origin()}/cb`
  const web = host.serve('/web.json', {
    redirect_uris: [own, 'https://app.example/cb', 'https://a.corp.example/cb', 'https://evil.example/cb'],
  })
  for (const uri of [own, 'https://app.example/cb', 'https://a.corp.example/cb']) {
    t.equal(await outcome(web, uri), 'Authorize', uri)
  }
  const foreign = [
    'https://evil.example/cb',
    `https://localhost/cb`,
    `${own}/more`,
    `${own}?x`,
    'https://app.example.evil.example/cb',
    loopback,
  ]
  for (const uri of foreign) t.match(await outcome(web, uri), /redirect_uri did not match/, uri)

  const native = host.serve('/native.json', {
    redirect_uris: ['http://127.0.0.1/cb', 'http://localhost:1/cb', 'http://[::1]/cb'],
  })
  for (const uri of [
    'http://127.0.0.1:50123/cb',
    'http://localhost:9/cb',
    'http://[::1]:7/cb',
    'http://127.0.0.1/cb',
  ]) {
    t.equal(await outcome(native, uri), 'Authorize', uri)
  }
  for (const uri of ['http://127.0.0.1/other', 'http://127.0.0.2/cb', 'https://127.0.0.1/cb']) {
    t.match(await outcome(native, uri), /redirect_uri did not match/, uri)
  }
})

t.test('ignores members that it does not know, and shows no logo', async (t) => {
  const { host, authorize } = await start(t)
  const client_id = host.serve('/client.json', {
    client_name: '\u202eevil\u202c\u0000  Agent\n\n"><script>alert(1)</script>',
    logo_uri: 'https://tracker.example/logo.png',
    tos_uri: 'https://tracker.example/terms',
    policy_uri: 'https://tracker.example/policy',
    contacts: 7,
    software_statement: { a: 1 },
    first_party: true,
    scopes: ['svc:admin'],
    backchannel_logout_uri: `${host.origin()}/logout`,
    request_object_signing_alg: 'none',
    subject_type: 'pairwise',
    application_type: 'web',
    default_max_age: 1,
  })
  const { page, answer } = await authorize(client_id)
  t.equal(page, 'Authorize')
  t.match(answer.body, 'It calls itself “evil Agent &gt;&lt;script&gt;alert(1)&lt;/script&gt;”.')
  t.notMatch(answer.body, 'tracker.example')
  t.notMatch(String(answer.headers['content-security-policy']), 'tracker.example')
  const long = host.serve('/long.json', { client_name: '👩‍💻'.repeat(40) })
  const shown = /It calls itself “([^”]*)”/.exec((await authorize(long)).answer.body)?.[1] ?? ''
  t.match([[...shown].length, shown.at(-1)], [60, '…'], 'long names are cut between characters')
  const quoted = host.serve('/quoted.json', { client_name: 'Claude”. An administrator approved it as “Claude' })
  t.match((await authorize(quoted)).answer.body, 'It calls itself “Claude. An administrator approved it as Claude”.')
  const nameless = host.serve('/nameless.json', { client_name: ' \u200b ' })
  t.notMatch((await authorize(nameless)).answer.body, 'It calls itself')
})

t.test('authenticates clients by the keys of their document or of its jwks_uri', async (t) => {
  const { host, svc, ada, authorize } = await start(t)
  const [key, other] = [await newKey('ES256'), await newKey('ES256', 'other')]
  host.answer('/jwks', (_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [key.jwk] }))
  })
  const method = { token_endpoint_auth_method: 'private_key_jwt' }
  const clients = [
    host.serve('/inline.json', { ...method, jwks: { keys: [key.jwk] } }),
    host.serve('/remote.json', { ...method, jwks_uri: `${host.origin()}/jwks` }),
  ]
  for (const client_id of clients) {
    const redeem = async (fields: object) => {
      const { code = '' } = response(await ada.decide(await authorize(client_id)))
      const exchange = { grant_type: 'authorization_code', code, redirect_uri: loopback, code_verifier: verifier }
      const answer = await post(svc, '/oauth/token', { ...exchange, ...fields })
      return answer.json().error ?? answer.statusCode
    }
    t.equal(await redeem({ client_id }), 'invalid_client', 'without a key')
    t.equal(await redeem(await assertion(other, client_id)), 'invalid_client', 'with another key')
    t.equal(await redeem(await assertion(key, 'https://other.example/x')), 'invalid_client', 'for another client')
    t.equal(await redeem(await assertion(key, client_id)), 200)
    t.equal(await redeem({ client_id, client_secret: 'x' }), 'invalid_client', 'a secret is never right')
  }
})

t.test('keeps to the code flow with PKCE', async (t) => {
  const { host, svc, ada } = await start(t)
  const client_id = host.serve('/client.json')
  const asked = { client_id, response_type: 'code', redirect_uri: loopback, scope: 'orders:read' }
  t.match((await ada.authorize(asked)).answer.body, /<code>invalid_request: .*PKCE.*<\/code>/)
  const plain = { ...asked, code_challenge: verifier, code_challenge_method: 'plain' }
  t.match((await ada.authorize(plain)).answer.body, /<code>invalid_request: /)
  const fields = [
    { grant_type: 'client_credentials' },
    { grant_type: 'password', username: ada.email, password: 'correct horse' },
    { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', subject_token: 'x', subject_token_type: 'y' },
    { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'x' },
  ]
  for (const form of fields) {
    const answer = await post(svc, '/oauth/token', { ...form, client_id })
    t.match([answer.statusCode, answer.json().error], [400, 'unauthorized_client'], form.grant_type)
  }
  const device = await post(svc, '/oauth/device/code', { client_id })
  t.match([device.statusCode, device.json().error], [400, 'unauthorized_client'])
  const once = host.serve('/once.json', { grant_types: undefined })
  const { code = '' } = response(await ada.decide(await ada.authorize({ ...asked, client_id: once, ...pkce })))
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: loopback, code_verifier: verifier }
  const tokens = await post(svc, '/oauth/token', { ...exchange, client_id: once })
  t.match(
    tokens.json(),
    { access_token: /./, refresh_token: undefined },
    'no refresh token unless it asks for the grant',
  )
})
