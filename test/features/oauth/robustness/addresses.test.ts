// engine: none
import t from 'tap'
import { protocolPaths } from '../../../../src/features/oauth/protocol/paths.ts'
import { buildTestApp } from '../../../support/app.ts'
import { callback, oauthSettings, Person, pkce, request } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'
import { settings } from './pieces.ts'

const concrete = (path: string) => path.replace(':uid', 'x')
const secure = 'https://id.example.com'

t.test('handles HEAD, OPTIONS, other methods and other spellings on every path', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
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
  const plain = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
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

t.test('ignores headers that claim another address of svc', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
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
    'the device page shows the real address instead of the claimed one',
  )
})

t.test('works behind a proxy that terminates TLS', async (t) => {
  const svc = await buildTestApp(t, {
    settings: { ...settings, server: { trust_proxy: ['127.0.0.1'] } },
    clock: stopTime(t),
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
  const cookies = [answer.headers['set-cookie'] ?? []].flat().filter((line) => line.startsWith('__Host-svc_oauth_'))
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
  t.equal(posted.headers.location, `/oauth/authorize?${query}`, "another site's form is repeated with the session")
  const same = await browser.send('POST', '/oauth/authorize', Buffer.from(query.toString()), form)
  t.match(same.headers.location, /^http:\/\/localhost:9999\/cb\?code=/)
  const logout = await browser.send('POST', '/oauth/logout', Buffer.from('client_id=third'), form)
  t.equal(logout.statusCode, 200)
  t.match(logout.body, /id="logout-yes"/)
})
