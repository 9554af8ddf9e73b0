// engine: none
import t from 'tap'
import { api, buildGuarded } from './setup.ts'

const rules = [
  { hosts: ['api.example.com'], paths: ['/public/*'], access: 'public' },
  { hosts: ['api.example.com'], paths: ['/orders/*'], methods: ['GET'], access: 'public' },
  { hosts: ['api.example.com'] },
]
const code = 'invalid_original_request'

t.test('answers trusted proxies only', async (t) => {
  const svc = await buildGuarded(t, rules)
  const answer = await svc.ask({ url: `${api}/public/x`, remoteAddress: '192.0.2.1' })
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), { code, message: /If 192\.0\.2\.1 is your proxy, add it to server\.trust_proxy\./ })
})

t.test('answers 400 without an original URI, method or host', async (t) => {
  const svc = await buildGuarded(t, rules)
  const whole = {
    'x-forwarded-method': 'GET',
    'x-forwarded-host': 'api.example.com',
    'x-forwarded-uri': '/public/x',
  }
  const messageOf = async (headers: Record<string, string>) => {
    const answer = await svc.app.inject({ url: '/svc/guard', headers })
    return answer.statusCode === 400 ? answer.json().message : answer.statusCode
  }
  t.equal(await messageOf(whole), 200)
  for (const [name, part] of [
    ['x-forwarded-uri', /URI is missing/],
    ['x-forwarded-method', /method is missing/],
    ['x-forwarded-host', /host is missing/],
  ] as const) {
    const { [name as keyof typeof whole]: _, ...others } = whole
    t.match(await messageOf(others as Record<string, string>), part)
  }
  t.match(await messageOf({}), /URI is missing/)
})

t.test('answers 400 when two headers name different requests', async (t) => {
  const svc = await buildGuarded(t, rules)
  const differing: Record<string, string>[] = [
    { 'x-original-url': `${api}/orders/1` },
    { 'x-original-url': 'https://other.example.com/public/x' },
    { 'x-original-url': 'http://api.example.com/public/x' },
    { 'x-original-url': `${api}/public/x?y` },
    { 'x-original-method': 'DELETE' },
  ]
  for (const headers of differing) {
    const answer = await svc.ask({ url: `${api}/public/x`, headers })
    t.equal(answer.statusCode, 400, JSON.stringify(headers))
    t.match(answer.json().message, /different original/)
  }
  const same = { 'x-original-url': 'https://API.example.com:443/public/x', 'x-original-method': 'GET' }
  t.equal((await svc.ask({ url: `${api}/public/x`, headers: same })).statusCode, 200)
})

t.test('answers 400 for values that it cannot read', async (t) => {
  const svc = await buildGuarded(t, rules)
  const bad: Record<string, string>[] = [
    { 'x-forwarded-uri': 'https://api.example.com/public/x' },
    { 'x-forwarded-uri': '/public/x, /public/y' },
    { 'x-forwarded-uri': 'public' },
    { 'x-forwarded-uri': '/public/%00' },
    { 'x-forwarded-uri': '/public/%zz' },
    { 'x-forwarded-uri': '/public\\..\\orders' },
    { 'x-forwarded-uri': '/public/caf\u00e9' },
    { 'x-forwarded-method': 'get' },
    { 'x-forwarded-method': 'GET, DELETE' },
    { 'x-forwarded-method': '' },
    { 'x-forwarded-proto': 'ftp' },
    { 'x-forwarded-proto': 'https, http' },
    { 'x-forwarded-host': 'api.example.com, evil.example' },
    { 'x-forwarded-host': 'api.example.com:99999' },
    { 'x-forwarded-host': 'api.example.com:' },
    { 'x-forwarded-host': 'user@api.example.com' },
    { 'x-forwarded-host': 'api.example.com/x' },
    { 'x-original-url': 'api.example.com/public/x' },
    { 'x-original-url': 'https:///public/x' },
  ]
  for (const headers of bad) {
    const answer = await svc.ask({ url: `${api}/public/x`, headers })
    t.equal(answer.statusCode, 400, JSON.stringify(headers))
    t.equal(answer.json().code, code)
  }
})

t.test('denies public access to a path that servers may read as another one', async (t) => {
  const svc = await buildGuarded(t, rules)
  const paths = [
    '/public/../users',
    '/public/%2e%2e/users',
    '/public/.%2e/users',
    '/public%2f..%2fusers',
    '/public/..%2fusers',
    '/public/..;/users',
    '/public;/../users',
    '/public;x=y/../users',
    '/public/%252e%252e/users',
    '/public/%252e%252e%252fusers',
    '/public//../users',
    '/public/./../users',
    '//public/x',
    '/./public/x',
    '/users/../public/x',
    '/PUBLIC/x',
    '/%70ublic/x',
    '/public%3fx/../users',
    '/public?/../users'.replace('?', '%3F'),
  ]
  for (const path of paths) {
    for (const answer of [await svc.ask({ url: api + path }), await svc.askAsNginx({ url: api + path })])
      t.match([400, 401], new Set([answer.statusCode]), `${path}: ${answer.statusCode}`)
  }
  t.equal((await svc.ask({ url: `${api}/public/x?/../../users` })).statusCode, 200, 'the query is no path')
})

t.test('reads spellings of a host as one host', async (t) => {
  const svc = await buildGuarded(t, rules)
  for (const host of ['api.example.com.', 'API.EXAMPLE.COM', 'api.example.com:443', 'api.example.com:8443'])
    t.equal((await svc.ask({ url: `https://${host}/public/x` })).statusCode, 200, host)
  for (const host of ['api.example.com.evil.example', 'xapi.example.com', 'api.example.com..'])
    t.not((await svc.ask({ url: `https://${host}/public/x` })).statusCode, 200, host)
})

t.test('requires that an overridden method matches the same rule', async (t) => {
  const svc = await buildGuarded(t, rules)
  const url = `${api}/orders/1`
  t.equal((await svc.ask({ url })).statusCode, 200)
  const spellings = ['X_HTTP_METHOD_OVERRIDE', 'x-http_method-override', 'X_Method-Override', 'x-http_method']
  for (const name of ['X-HTTP-Method-Override', 'x-http-method', 'X-Method-Override', ...spellings])
    t.equal((await svc.ask({ url, headers: { [name]: 'DELETE' } })).statusCode, 400, name)
  t.equal((await svc.ask({ url: `${url}?_method=delete` })).statusCode, 400)
  // Spellings that PHP and others read as these names.
  for (const name of ['X.HTTP.Method.Override', 'X-HTTP~Method', 'x|method_override'])
    t.equal((await svc.ask({ url, headers: { [name]: 'DELETE' } })).statusCode, 400, name)
  for (const name of [
    '.method',
    '%20_method',
    '+_method',
    '++.method',
    '_method[]',
    '_method%00x',
    '_METHOD',
    '%5fmethod',
  ])
    t.match((await svc.ask({ url: `${url}?a=b&${name}=delete` })).json(), { message: /override/ }, name)
  t.match((await svc.ask({ url: `${url}?a=b;_method=delete` })).json(), { message: /override/ }, 'after a semicolon')
  for (const name of ['method', '_methods', 'x_method', '_.method'])
    t.equal((await svc.ask({ url: `${url}?${name}=delete` })).statusCode, 200, name)
  const authorization = `Bearer ${await svc.createToken(await svc.createUser())}`
  const listed = { authorization, 'x-http-method-override': 'GET, DELETE' }
  t.equal((await svc.ask({ method: 'POST', url, headers: listed })).statusCode, 400, 'the first of a list')
  t.equal((await svc.ask({ url: `${api}/public/x`, headers: { 'x-http-method-override': 'PUT' } })).statusCode, 200)
})

t.test('rejects headers that a proxy must not pass to a service', async (t) => {
  const svc = await buildGuarded(t, rules)
  const url = `${api}/public/x`
  const messageOf = async (headers: Record<string, string>) => {
    const answer = await svc.ask({ url, headers })
    return answer.statusCode === 400 ? answer.json().message : answer.statusCode
  }
  for (const name of ['Remote.User', 'Remote_User', 'Svc~User-Id', 'X|Forwarded-Uri', 'api_key', 'a!'])
    t.match(await messageOf({ [name]: '1' }), `The name of the header ${name.toLowerCase()}`, name)
  for (const upgrade of ['h2c', 'websocket, h2c', 'h2c, websocket', 'TLS/1.0', 'connect-udp', ''])
    t.match(await messageOf({ upgrade }), /^The header Upgrade may only be/, upgrade)
  for (const upgrade of ['websocket', 'WebSocket']) t.equal(await messageOf({ upgrade }), 200, upgrade)
})

t.test('ignores the body, the content type and the method of the request of the proxy', async (t) => {
  const svc = await buildGuarded(t, rules)
  const headers = {
    'x-original-method': 'GET',
    'x-original-url': `${api}/public/x`,
    'content-type': 'application/json',
  }
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    const answer = await svc.app.inject({ method, url: '/svc/guard', headers, payload: '{"not json' })
    t.equal(answer.statusCode, 200, method)
  }
  const preflight = { ...headers, origin: 'https://app.example.com', 'access-control-request-method': 'POST' }
  const answer = await svc.app.inject({ method: 'OPTIONS', url: '/svc/guard', headers: preflight })
  t.equal(answer.statusCode, 200)
  t.notHas(answer.headers, { 'access-control-allow-origin': '' })
})

t.test('reads the request of Envoy from its path', async (t) => {
  const svc = await buildGuarded(t, rules)
  const send = (method: 'GET' | 'DELETE', path: string, headers = {}) =>
    svc.app.inject({ method, url: `/svc/guard${path}`, headers: { host: 'api.example.com', ...headers } })
  t.equal((await send('GET', '/public/x?y=1')).statusCode, 200)
  t.equal((await send('GET', '/orders/1')).statusCode, 200)
  t.equal((await send('DELETE', '/orders/1')).statusCode, 401)
  t.equal((await send('GET', '/users')).statusCode, 401)
  t.equal((await send('GET', '/public/..;/users')).statusCode, 400)
  t.equal(
    (await send('GET', '/users', { 'x-original-url': `${api}/public/x` })).statusCode,
    400,
    'a header of a client',
  )
  t.equal((await send('GET', '/users', { 'x-forwarded-uri': '/public/x' })).statusCode, 400)
  t.equal((await send('GET', '/orders/1?rule=none')).statusCode, 200, 'its query is not the query of the guard')
})

t.test('serves every prefix of compat.prefixes', async (t) => {
  const svc = await buildGuarded(t, rules, { compat: { prefixes: ['svc', 'sanctum'] } })
  const headers = { 'x-original-method': 'GET', 'x-original-url': `${api}/public/x` }
  t.equal((await svc.app.inject({ url: '/sanctum/guard', headers })).statusCode, 200)
})
