// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'

const mismatch = { message: 'CSRF token mismatch.', code: 'csrf_mismatch' }
const create = '/api/tokens/create'
const named = { token_name: 'x' }

t.test('checks only the first source with a token, even if its token is wrong', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser({ xsrf: false })
  await spa.get('/svc/csrf-cookie')
  const before = await spa.cookie('XSRF-TOKEN')
  const good = { 'x-xsrf-token': before }
  t.equal((await spa.post('/login', { email: user.email, password: 'correct horse' }, good)).statusCode, 200)
  const token = await spa.cookie('XSRF-TOKEN')
  const neighbour = svc.browser()
  await neighbour.signIn((await svc.createUser()).email)
  const foreign = await neighbour.cookie('XSRF-TOKEN')
  const at = async (body: object, headers: Record<string, string | undefined>) =>
    (await spa.post(create, { ...named, ...body }, headers)).statusCode
  t.equal(await at({ _token: token }, {}), 200)
  t.equal(await at({}, { 'x-csrf-token': token }), 200)
  t.equal(await at({}, { 'x-xsrf-token': token }), 200)
  t.equal(await at({ _token: '' }, { 'x-xsrf-token': token }), 200, 'an empty source counts as missing')
  t.equal(await at({ _token: null }, { 'x-csrf-token': '', 'x-xsrf-token': token }), 200)
  t.equal(await at({ _token: token }, { 'x-csrf-token': 'wrong', 'x-xsrf-token': 'wrong' }), 200)
  t.equal(await at({}, { 'x-csrf-token': token, 'x-xsrf-token': 'wrong' }), 200)
  for (const [body, headers] of [
    [{}, {}],
    [{ _token: 'wrong' }, { 'x-csrf-token': token, 'x-xsrf-token': token }],
    [{ _token: [token] }, { 'x-xsrf-token': token }],
    [{ _token: { 0: token } }, { 'x-xsrf-token': token }],
    [{ _token: 0 }, { 'x-xsrf-token': token }],
    [{ _token: true }, {}],
    [{}, { 'x-csrf-token': 'wrong', 'x-xsrf-token': token }],
    [{}, { 'x-xsrf-token': foreign }],
    [{}, { 'x-xsrf-token': before }],
    [{}, { 'x-xsrf-token': `${token}x` }],
    [{}, { 'x-xsrf-token': token?.slice(1) }],
    [{}, { 'x-xsrf-token': `${token}, ${token}` }],
    [{}, { 'x-xsrf-token': await spa.cookie('svc_session') }],
  ] as [object, Record<string, string>][]) {
    const answer = await spa.post(create, { ...named, ...body }, headers)
    t.equal(answer.statusCode, 419, JSON.stringify([Object.keys(body), Object.keys(headers)]))
    t.strictSame(answer.json(), mismatch)
  }
  t.equal(
    (await spa.post(`${create}?_token=${token}`, named)).statusCode,
    419,
    'tokens in URLs are ignored, because URLs are logged',
  )
  t.equal(await svc.database.prisma.personalAccessToken.count(), 7)
})

t.test('requires a token except for browsers that report the same origin', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const at = async (site: string, xsrf?: string) =>
    (await spa.post(create, named, { 'sec-fetch-site': site, 'x-xsrf-token': xsrf })).statusCode
  t.equal(await at('same-origin'), 200)
  t.equal(await at('same-origin', 'wrong'), 200)
  for (const site of [
    'same-site',
    'cross-site',
    'none',
    '',
    'Same-Origin',
    'same-origin, same-origin',
    'same-originx',
  ]) {
    t.equal(await at(site), 419, site)
    t.equal(await at(site, await spa.cookie('XSRF-TOKEN')), 200, `${site} with the token`)
  }
  const stranger = await svc.app.inject({
    method: 'POST',
    url: '/login',
    headers: { 'sec-fetch-site': 'cross-site', origin: 'http://evil.example' },
    payload: { email: user.email, password: 'correct horse' },
  })
  t.equal(stranger.statusCode, 419)
})

t.test('answers 419 before 403: a forged request reveals nothing about the account', async (t) => {
  const svc = await buildTestApp(t, { settings: { registration: { require_verified_email: true } } })
  const user = await svc.createUser({ verified: false })
  const spa = svc.browser()
  t.equal((await spa.signIn(user.email)).statusCode, 200)
  for (const [method, path] of [
    ['POST', create],
    ['PUT', '/user/password'],
    ['DELETE', '/api/tokens/1'],
  ] as const) {
    const forged = await spa.send(method, path, named, { 'x-xsrf-token': 'wrong' })
    t.equal(forged.statusCode, 419, `${method} ${path}`)
    t.equal((await spa.send(method, path, named)).statusCode, 403, `${method} ${path} with the token`)
  }
})

t.test('requires the token on guest routes, with or without a session', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const body = { email: user.email, password: 'correct horse' }
  const token = await svc.createToken(user)
  const spa = svc.browser()
  t.equal((await spa.post('/login', body)).statusCode, 419, 'no cookie')
  const anonymous = await spa.cookie('XSRF-TOKEN')
  const noCookie = { cookie: undefined, 'x-xsrf-token': anonymous }
  t.equal((await spa.post('/login', body, noCookie)).statusCode, 419, 'the value without its cookie')
  t.equal((await spa.post('/login', body, { cookie: 'svc_session=forged', 'x-xsrf-token': anonymous })).statusCode, 419)
  const outside = { origin: undefined, referer: undefined, 'x-xsrf-token': undefined }
  t.equal((await spa.post('/login', body, outside)).statusCode, 419, 'for every origin')
  t.equal((await spa.post('/login', body, { ...outside, authorization: `Bearer ${token}` })).statusCode, 419)
  t.equal((await svc.bearer(token, 'POST', '/login', body)).statusCode, 419)
  t.equal((await svc.bearer(null, 'POST', '/login', body)).statusCode, 419)
  t.equal((await spa.post('/login', {}, { 'x-xsrf-token': 'wrong' })).statusCode, 419, '419 before 422')
  t.equal((await spa.post('/login', body)).statusCode, 200)
  t.equal((await spa.post('/login', body, { 'x-xsrf-token': undefined })).statusCode, 419)
  t.equal((await spa.get('/api/user')).statusCode, 200)
})

t.test('answers 401 without credentials, requires CSRF of sessions, and not of bearers', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  const authorization = `Bearer ${token}`
  const spa = svc.browser({ xsrf: false })
  const anonymous = await spa.post(create, named)
  t.equal(anonymous.statusCode, 401)
  t.equal(anonymous.headers['www-authenticate'], 'Bearer')
  await spa.get('/svc/csrf-cookie')
  t.equal((await spa.post(create, named)).statusCode, 401, 'an anonymous visitor is not authenticated')
  t.equal((await spa.post('/logout')).statusCode, 401)
  t.equal((await spa.post(create, named, { authorization })).statusCode, 200, 'a bearer from the front end')
  t.equal((await spa.post(create, named, { authorization: 'Bearer 1|wrong' })).statusCode, 401)
  const xsrf = await spa.cookie('XSRF-TOKEN')
  const login = { email: user.email, password: 'correct horse', _token: xsrf }
  t.equal((await spa.post('/login', login)).statusCode, 200)
  t.equal(
    (await spa.post(create, named, { authorization })).statusCode,
    419,
    'a session takes precedence over a bearer',
  )
  t.equal((await spa.post(create, named, { authorization: 'Bearer 1|wrong' })).statusCode, 419)
  t.equal((await spa.get('/api/user', { authorization: 'Bearer 1|wrong' })).statusCode, 200, 'which is not looked up')
  const elsewhere = { origin: 'http://evil.example', referer: undefined }
  t.equal((await spa.post(create, named, elsewhere)).statusCode, 401, 'a foreign page has no session')
  t.equal((await spa.post(create, named, { ...elsewhere, authorization })).statusCode, 200)
  t.equal((await spa.post(create, named, { origin: undefined, referer: undefined })).statusCode, 401)
})

t.test('applies the CSRF check to every method override', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser({ xsrf: false })
  await spa.get('/svc/csrf-cookie')
  const xsrf = { 'x-xsrf-token': await spa.cookie('XSRF-TOKEN') }
  await spa.post('/login', { email: user.email, password: 'correct horse' }, xsrf)
  await svc.createToken(user)
  const { id } = (await spa.get('/api/tokens')).json()[0]
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const attempts = [
    spa.delete(`/api/tokens/${id}`),
    spa.post(`/api/tokens/${id}`, { _method: 'DELETE' }),
    spa.post(`/api/tokens/${id}`, { _method: 'delete', _token: 'wrong' }),
    spa.post(`/api/tokens/${id}`, Buffer.from('_method=DELETE'), form),
    spa.post(`/api/tokens/${id}`, undefined, { 'x-http-method-override': 'DELETE' }),
    spa.post('/server/1', { _method: 'PUT', name: 'x' }),
  ]
  for (const answer of await Promise.all(attempts)) t.equal(answer.statusCode, 419)
  for (const answer of [
    await spa.get(`/api/tokens/${id}`, { 'x-http-method-override': 'DELETE' }),
    await spa.get(`/api/tokens/${id}?_method=DELETE`),
    await spa.post(`/api/tokens/${id}`, { _method: 'GET' }),
    await spa.post('/login', { _method: 'GET' }, { 'x-http-method-override': 'GET' }),
    await spa.post('/logout', {}, { 'x-http-method-override': 'HEAD' }),
  ]) {
    t.ok([405, 419].includes(answer.statusCode), String(answer.statusCode))
  }
  t.equal((await spa.get('/api/tokens')).json().length, 1)
  const now = await spa.cookie('XSRF-TOKEN')
  t.equal((await spa.post(`/api/tokens/${id}`, { _method: 'DELETE', _token: now })).statusCode, 200)
  t.strictSame((await spa.get('/api/tokens')).json(), [])
})

t.test('ignores cookies on guard routes with stateful_api off', async (t) => {
  const svc = await buildTestApp(t, { settings: { stateful_api: false } })
  const user = await svc.createUser()
  const spa = svc.browser()
  t.equal((await spa.signIn(user.email, undefined, { remember: true })).statusCode, 200)
  t.equal((await spa.get('/api/user')).statusCode, 401)
  t.equal((await spa.get('/test-user', { 'sec-fetch-site': 'same-origin' })).statusCode, 401)
  t.equal((await spa.post('/logout')).statusCode, 401)
  const token = await svc.createToken(user)
  t.equal((await spa.get('/api/user', { authorization: `Bearer ${token}` })).statusCode, 200)
  t.equal(await svc.database.prisma.session.count(), 1)
})

t.test('the cookie with the token has the configured name', async (t) => {
  for (const [url, name] of [
    ['http://localhost:8000', 'SVC-XSRF'],
    ['https://id.example.com', 'SVC-XSRF'],
    ['https://id.example.com', '__Host-XSRF'],
  ] as const) {
    const app = { url, environment: 'development' }
    const svc = await buildTestApp(t, { settings: { app, session: { xsrf_cookie: name } } })
    const cookies = await svc.app.inject({ url: '/svc/csrf-cookie', headers: { host: new URL(url).host } })
    t.match(cookies.cookies, [{ httpOnly: true }, { name, path: '/' }])
    t.notOk(cookies.cookies[1]?.httpOnly)
    const page = await svc.app.inject({ url: '/oauth/login', headers: { accept: 'text/html' } })
    t.match(page.body, `data-xsrf-cookie="${name}"`)
    const [session, xsrf] = cookies.cookies
    const cookie = `${session?.name}=${session?.value}; ${name}=other; XSRF-TOKEN=another`
    const post = (token: string) =>
      svc.app.inject({
        ...{ method: 'POST', url: '/forgot-password', payload: {} },
        headers: { cookie, origin: 'http://localhost:5173', accept: 'application/json', 'x-xsrf-token': token },
      })
    t.equal((await post(xsrf?.value ?? '')).statusCode, 422, 'the token of this session passes the check')
    t.equal((await post('other')).statusCode, 419)
  }
})
