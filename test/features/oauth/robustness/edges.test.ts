import { connect } from 'node:net'
import t from 'tap'
import { protocolPaths } from '../../../../src/features/oauth/protocol/paths.ts'
import { buildTestApp } from '../../../support/app.ts'
import { TestClock } from '../../../support/clock.ts'
import {
  callback,
  clients,
  oauthSettings,
  Person,
  pkce,
  request,
  response,
  secret,
  token,
} from '../../../support/oauth.ts'
import { settings } from './pieces.ts'

t.setTimeout(110_000)

const clock = () => new TestClock(Date.now())
const concrete = (path: string) => path.replace(':uid', 'x')
const secure = 'https://id.example.com'

t.test('HEAD, OPTIONS, other methods and other spellings on every path', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: clock() })
  for (const [path, { methods, caller }] of Object.entries(protocolPaths)) {
    const url = concrete(path)
    const head = await svc.app.inject({ method: 'HEAD', url })
    t.equal(head.body, '', `HEAD ${path}`)
    t.ok(
      head.statusCode < 500 && (head.statusCode === 405) === !methods.includes('GET'),
      `HEAD ${path} ${head.statusCode}`,
    )
    const options = await svc.app.inject({ method: 'OPTIONS', url })
    t.equal(options.statusCode, caller === 'program' ? 204 : 404, `OPTIONS ${path}`)
    for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
      const answer = await svc.app.inject({ method, url })
      t.equal(answer.statusCode, 405, `${method} ${path}`)
      t.match(answer.json(), { message: String, code: 'method_not_allowed' })
      t.match(String(answer.headers.allow), methods[0])
    }
    for (const other of [`${url}/`, url.replace('o', '%6f'), url.toUpperCase(), `//x${url}`, `${url}%00`, `${url};x`]) {
      const answer = await svc.app.inject({ method: methods[0] ?? 'GET', url: other })
      const isCode = path.endsWith(':uid')
      t.ok(
        [404, 405, ...(isCode && !other.endsWith('/') ? [400] : [])].includes(answer.statusCode),
        `${other} ${answer.statusCode}`,
      )
    }
  }
  const plain = await buildTestApp(t, { settings: oauthSettings, clock: clock() })
  for (const url of ['/oauth/authorize', '/oauth/logout']) {
    const answer = await plain.app.inject({
      method: 'POST',
      url,
      payload: '',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    t.equal(answer.statusCode, 405, `POST ${url} needs https`)
    t.equal(answer.headers.allow, 'GET')
  }
})

t.test('no header decides where svc is', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: clock() })
  const hostile = {
    host: 'evil.example:99999',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'gopher',
    'x-forwarded-for': '6.6.6.6',
    forwarded: 'host=evil.example',
    'x-original-url': '/evil.example',
  }
  const ask = (url: string, payload?: object) =>
    svc.app.inject({
      method: payload ? 'POST' : 'GET',
      url,
      headers: hostile,
      remoteAddress: '2001:db8::7',
      ...(payload ? { payload } : {}),
    })
  const own = 'http://localhost:8000/'
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
    const metadata = (await ask(path)).json()
    for (const [name, value] of Object.entries(metadata)) {
      if (/_(endpoint|uri)$/.test(name)) t.ok(String(value).startsWith(own), `${name} ${value}`)
    }
    t.equal(metadata.issuer, 'http://localhost:8000')
  }
  const device = (await ask('/oauth/device/code', { client_id: 'tv' })).json()
  t.equal(device.verification_uri, `${own}oauth/device`)
  t.ok(device.verification_uri_complete.startsWith(own))
  const led = await ask(`/oauth/authorize?${new URLSearchParams(request('web'))}`)
  t.match(led.headers.location, /^\/oauth\/interaction\//)
  const question = await svc.app.inject({
    url: String(led.headers.location),
    headers: {
      ...hostile,
      cookie: [led.headers['set-cookie'] ?? []]
        .flat()
        .map((line) => line.split(';')[0])
        .join('; '),
    },
  })
  t.match(question.headers.location, /^http:\/\/localhost:8000\/oauth\/login\?/)

  const person = new Person(svc, (await svc.createUser()).email)
  const page = await person.press(await person.go('/oauth/device'), { user_code: device.user_code })
  t.match(
    page.answer.body,
    /id="device-ip">2001:db8::7</,
    'the device is shown at its own address, not the one it claims',
  )
})

t.test('behind a proxy that ends TLS', async (t) => {
  const svc = await buildTestApp(t, {
    settings: { ...settings, server: { trust_proxy: ['127.0.0.1'] } },
    clock: clock(),
  })
  const proxied = {
    'x-forwarded-proto': 'https',
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-host': 'id.example.com',
  }
  const metadata = (await svc.app.inject({ url: '/.well-known/openid-configuration', headers: proxied })).json()
  t.match(metadata, {
    issuer: secure,
    token_endpoint: `${secure}/oauth/token`,
    jwks_uri: `${secure}/.well-known/jwks.json`,
  })
  const browser = svc.browser({ origin: secure, url: secure })
  await browser.signIn((await svc.createUser()).email)
  const query = new URLSearchParams({
    client_id: 'web',
    response_type: 'code',
    redirect_uri: callback,
    scope: 'openid',
    state: 's',
    ...pkce,
  })
  const answer = await browser.get(`/oauth/authorize?${query}`, proxied)
  t.match(answer.headers.location, /^http:\/\/localhost:9999\/cb\?code=.*iss=https%3A%2F%2Fid\.example\.com/)
  const cookies = [answer.headers['set-cookie'] ?? []].flat().filter((line) => line.startsWith('svc_oauth_'))
  t.ok(cookies.length > 0)
  for (const line of cookies) {
    t.match(line, /; secure/i, line)
    t.match(line, /; httponly/i, line)
    if (line.startsWith('svc_oauth_session')) t.match(line, /; samesite=none/i, line)
  }
  const device = (
    await svc.app.inject({ method: 'POST', url: '/oauth/device/code', headers: proxied, payload: { client_id: 'tv' } })
  ).json()
  t.equal(device.verification_uri, `${secure}/oauth/device`)

  const form = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html', ...proxied }
  const posted = await svc.app.inject({
    method: 'POST',
    url: '/oauth/authorize',
    headers: { ...form, origin: 'https://shop.example', 'sec-fetch-site': 'cross-site' },
    payload: query.toString(),
  })
  t.equal(posted.statusCode, 303)
  t.equal(posted.headers.location, `/oauth/authorize?${query}`, "another site's form comes again with the session")
  const same = await browser.send('POST', '/oauth/authorize', Buffer.from(query.toString()), form)
  t.match(same.headers.location, /^http:\/\/localhost:9999\/cb\?code=/)
  const logout = await browser.send('POST', '/oauth/logout', Buffer.from('client_id=third'), form)
  t.equal(logout.statusCode, 200)
  t.match(logout.body, /id="logout-yes"/)
})

t.test('a state and a nonce of any text come back as they were, or are refused', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...oauthSettings, rate_limits: { login: null } }, clock: clock() })
  const person = new Person(svc, (await svc.createUser()).email)
  const texts = ['a b&c=d#e', '☃ \u202e', '"><script>', 'x'.repeat(50_000), '\0', '\r\nSet-Cookie: a=b', '%00%ff']
  await person.signIn()
  for (const text of texts) {
    const stop = await person.allow(request('own', { state: text, nonce: text, scope: 'openid' }))
    t.equal(response(stop).state, text, text.slice(0, 20))
    const answer = await token(svc, 'own', {
      grant_type: 'authorization_code',
      code: response(stop).code ?? '',
      redirect_uri: callback,
      code_verifier: 'a-verifier-that-nobody-else-knows-0123456789',
    })
    t.equal(answer.statusCode, 200, answer.body)
    const claims = JSON.parse(Buffer.from(answer.json().id_token.split('.')[1], 'base64url').toString())
    t.equal(claims.nonce, text)
  }
  // Bytes that are no text, and half of a character.
  for (const bytes of ['%ff%fe', '%ed%a0%80', '%']) {
    const query = new URLSearchParams(request('own', { scope: 'openid' })).toString().replace('the-state', bytes)
    const { out } = await person.go(`/oauth/authorize?${query}`)
    t.ok(out?.searchParams.get('state'), bytes)
  }
})

t.test('what cannot be sent by a well-behaved client, on a real socket', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: clock() })
  const { port } = new URL(await svc.app.listen({ port: 0, host: '127.0.0.1' }))
  const raw = (...parts: string[]) =>
    new Promise<string>((resolve, reject) => {
      let answer = ''
      const socket = connect(Number(port), '127.0.0.1', async () => {
        for (const part of parts) {
          socket.write(Buffer.from(part, 'latin1'))
          await new Promise((done) => setTimeout(done, 20))
        }
      })
      socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')))
      socket.on('data', (chunk) => {
        answer += chunk
      })
      socket
        .on('close', () => resolve(answer))
        .on('error', () => resolve(answer))
        .on('error', reject)
    })
  const credentials = Buffer.from(`machine:${secret}`).toString('base64')
  const body = 'grant_type=client_credentials'
  const head = (line: string, ...more: string[]) => [line, 'Host: x', ...more, '', ''].join('\r\n')
  const post = (...more: string[]) =>
    head(
      'POST /oauth/token HTTP/1.1',
      'Content-Type: application/x-www-form-urlencoded',
      `Authorization: Basic ${credentials}`,
      ...more,
    )
  const close = 'Connection: close'
  const sized = `Content-Length: ${body.length}`
  t.match(await raw(post(close, sized), ...body), /^HTTP\/1.1 200 [\s\S]*access_token/, 'a body by the byte')
  t.match(await raw(post(close, 'Transfer-Encoding: chunked'), `1d\r\n${body}\r\n0\r\n\r\n`), /^HTTP\/1.1 200 /)
  const two = await raw(post(sized) + body + post(close, sized) + body)
  t.equal(two.match(/HTTP\/1.1 200/g)?.length, 2, 'one after the other without waiting')
  t.match(await raw(post(close, sized).replace('HTTP/1.1', 'HTTP/1.0') + body), /^HTTP\/1.1 200 /, 'HTTP/1.0')
  t.match(await raw('GET /.well-known/jwks.json HTTP/1.0\r\n\r\n'), /^HTTP\/1.1 200 /, 'without a Host')
  for (const [name, text] of [
    ['an absurd length', post(close, 'Content-Length: 99999999999999')],
    ['two lengths', post(close, 'Content-Length: 3', 'Content-Length: 4')],
    ['a length that is none', post(close, 'Content-Length: x')],
    ['length and chunks', post(close, sized, 'Transfer-Encoding: chunked')],
    ['NUL in a header', post(close, sized, 'X: \0')],
    ['a header without a colon', post(close, sized, 'nonsense')],
    ['a folded header', post(close, sized, 'A: b\r\n c')],
    ['no method', head('/oauth/token HTTP/1.1', close)],
  ] as const) {
    const answer = await raw(text + body)
    t.match(answer, /^HTTP\/1.1 (400|413) /, name)
    t.match(answer, /"(message|error_description)":/, name)
  }
  const huge = 'x'.repeat(60_000)
  t.match(await raw(post(close, `Content-Length: ${huge.length}`) + huge), /^HTTP\/1.1 400 [\s\S]*"invalid_request"/)
  t.match(
    await raw(post(close, 'Transfer-Encoding: chunked'), `${huge.length.toString(16)}\r\n${huge}\r\n0\r\n\r\n`),
    /^HTTP\/1.1 400 /,
  )
  t.match(
    await raw(head('GET http://evil.example/.well-known/openid-configuration HTTP/1.1', close)),
    /^HTTP\/1.1 (404|200) (?![\s\S]*evil)/,
  )
  t.match(
    await raw(
      head(
        'GET /oauth/authorize?client_id=web HTTP/1.1',
        close,
        'Cookie: svc_oauth_session=\xff; svc_session=\xfe',
        'Accept: text/html',
      ),
    ),
    /^HTTP\/1.1 (303|400) /,
  )
  // Whoever hangs up in the middle of it is nobody's failure.
  const gone = connect(Number(port), '127.0.0.1', () => gone.write(post('Content-Length: 500'), () => gone.destroy()))
  await new Promise((done) => gone.once('close', done))
  t.match(await raw(post(close, sized) + body), /^HTTP\/1.1 200 /)
  t.same(
    svc.logs.filter((line) => JSON.parse(line).level >= 50),
    [],
  )
})

t.test('pages of other origins may call as their client says, and by nothing else', async (t) => {
  const origins = ['https://app.example']
  const own = clients.map((client) => (client.client_id === 'tv' ? { ...client, cors_origins: origins } : client))
  const svc = await buildTestApp(t, {
    settings: { ...oauthSettings, clients: own, cors: { origins: ['https://api-only.example'] } },
    clock: clock(),
  })
  const ask = (origin: string) =>
    svc.app.inject({ method: 'POST', url: '/oauth/device/code', headers: { origin }, payload: { client_id: 'tv' } })
  const allowed = await ask('https://app.example')
  t.equal(allowed.statusCode, 200)
  t.equal(allowed.headers['access-control-allow-origin'], 'https://app.example')
  t.equal(allowed.headers['access-control-allow-credentials'], undefined)
  const refused = await ask('https://api-only.example')
  t.equal(refused.statusCode, 400)
  t.equal(refused.headers['access-control-allow-origin'], undefined)
  const preflight = await svc.app.inject({
    method: 'OPTIONS',
    url: '/oauth/token',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'dpop',
    },
  })
  t.equal(preflight.statusCode, 204)
  t.match(preflight.headers, { 'access-control-allow-methods': 'POST', 'access-control-allow-headers': 'dpop' })
  t.equal(
    (await svc.app.inject({ url: '/oauth/authorize', headers: { origin: 'https://api-only.example' } })).headers[
      'access-control-allow-origin'
    ],
    undefined,
  )
})

t.test('two authorizations in one browser are two: what is allowed is what was shown', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: clock() })
  const person = new Person(svc, (await svc.createUser()).email)
  await person.signIn()
  const first = await person.authorize(request('web', { scope: 'openid' }))
  const second = await person.authorize(request('other', { scope: 'openid orders:write' }))
  t.match(second.answer.body, 'other.example')
  const allowed = await person.press(first, { decision: 'approve' })
  t.equal(allowed.out?.host, 'localhost:9999')
  t.match(response(allowed), { code: String })
  t.match(response(await person.press(second, { decision: 'deny' })), { error: 'access_denied' })
})

t.test('fifty sign-ins in a row, where the limits are off for a test suite', async (t) => {
  const svc = await buildTestApp(t, {
    settings: { ...oauthSettings, rate_limits: { login: null, token: null, global: null } },
    clock: clock(),
  })
  const { email } = await svc.createUser()
  for (let i = 0; i < 50; i++) {
    const stop = await new Person(svc, email).allow(request('web', { scope: 'openid' }))
    const answer = await token(svc, 'web', {
      grant_type: 'authorization_code',
      code: response(stop).code ?? '',
      redirect_uri: callback,
      code_verifier: 'a-verifier-that-nobody-else-knows-0123456789',
    })
    if (answer.statusCode !== 200) return t.fail(answer.body)
    const wrong = await svc.app.inject({
      method: 'POST',
      url: '/oauth/token',
      payload: { grant_type: 'client_credentials', client_id: 'web', client_secret: 'wrong' },
    })
    if (wrong.statusCode !== 401) return t.fail(wrong.body)
  }
  t.pass('none was limited')
})

t.test('the forms on the way to a client may end there, and nowhere that is not registered', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: clock() })
  const person = new Person(svc, (await svc.createUser()).email)
  const targets = ({ answer }: { answer: { headers: Record<string, unknown> } }) =>
    /form-action ([^;]*)/.exec(String(answer.headers['content-security-policy']))?.[1]
  const usual = targets(await person.go('/oauth/login'))
  t.match(usual, "'self'")
  for (const [redirect_uri, source] of [
    ['com.example.app:/cb', 'com.example.app:'],
    ['http://127.0.0.1:7777/cb', 'http://127.0.0.1:7777'],
    // A policy has no words for such an address.
    ['http://[::1]:7777/cb', 'http:'],
  ] as const) {
    const login = await person.authorize(request('app', { redirect_uri, scope: 'openid' }))
    t.equal(login.page, 'Sign in')
    t.equal(targets(login), `${source} ${usual}`)
    t.match(login.answer.headers['content-security-policy'], /default-src 'none'.*frame-ancestors 'none'/)
  }
  await person.signIn()
  const consent = await person.authorize(request('other', { scope: 'openid', response_mode: 'form_post' }))
  t.equal(targets(consent), `https://other.example ${usual}`)
  const sends = await person.press(consent, { decision: 'approve' })
  t.equal(targets(sends), `https://other.example ${usual}`)
  t.match(sends.answer.headers['content-security-policy'], /script-src 'self' [^;]*'sha256-/, 'its script may run')
  t.match(sends.answer.headers, {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  })
  const evil = await person.authorize(
    request('other', { redirect_uri: 'https://evil.example/cb', response_mode: 'form_post' }),
  )
  t.equal(evil.page, 'Error')
  t.equal(targets(evil), usual)
  const bye = `/oauth/logout?${new URLSearchParams({ client_id: 'other', post_logout_redirect_uri: 'https://evil.example/' })}`
  t.equal(targets(await person.go(bye)), usual)
  t.equal(targets(await new Person(svc, '').go('/oauth/login?return_to=/oauth/interaction/unknown')), usual)
})
