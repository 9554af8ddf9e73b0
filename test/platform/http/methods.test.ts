// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS' | 'TRACE' | 'QUERY'
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const idOf = (token: string) => token.split('|')[0]

const send = (
  { app }: TestApp,
  token: string | null,
  [method, url]: [Method, string],
  payload: string | object = '',
  headers: Record<string, string> = {},
) =>
  app.inject({
    method,
    url,
    headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
    ...(payload === '' ? {} : { payload }),
  })

async function start(t: Parameters<typeof buildTestApp>[0]) {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const tokens = [await svc.createToken(user), await svc.createToken(user), await svc.createToken(user)] as const
  const count = () => svc.database.prisma.personalAccessToken.count()
  return { svc, user, tokens, count }
}

t.test('answers 405 with the supported methods', async (t) => {
  const { svc, tokens } = await start(t)
  for (const [method, url, allow] of [
    ['GET', '/tokens/create', 'POST'],
    ['PUT', '/tokens/create', 'POST'],
    ['DELETE', '/svc/token', 'POST'],
    ['GET', '/api/tokens/1', 'DELETE'],
    ['PUT', '/api/tokens/current', 'DELETE, GET, HEAD'],
    ['POST', '/api/tokens/1', 'DELETE'],
    ['PATCH', '/api/tokens', 'DELETE, GET, HEAD'],
    ['TRACE', '/api/tokens', 'DELETE, GET, HEAD'],
    ['QUERY', '/api/tokens/1', 'DELETE'],
    ['POST', '/api/tokens', 'DELETE, GET, HEAD'],
    ['DELETE', '/orders', 'GET, HEAD'],
    ['POST', '/server/1', 'PUT'],
    ['DELETE', '/server/1', 'PUT'],
    ['PUT', '/api/task', 'GET, HEAD, POST'],
    ['POST', '/health/live', 'GET, HEAD'],
    ['DELETE', '/openapi.json', 'GET, HEAD'],
  ] as const) {
    for (const token of [null, tokens[0]]) {
      const answer = await send(svc, token, [method, url])
      t.equal(answer.statusCode, 405, `${method} ${url}`)
      t.equal(answer.headers.allow, allow)
      t.match(answer.json(), { message: String, code: 'method_not_allowed' })
    }
  }
  for (const url of ['/tokens/create', '/logout', '/server/1']) {
    t.equal((await send(svc, null, ['HEAD', url])).statusCode, 405, `HEAD ${url}`)
  }
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    t.equal((await send(svc, tokens[0], [method, '/nowhere'])).statusCode, 404)
  }
})

t.test('answers HEAD as GET, without the body', async (t) => {
  const { svc, tokens } = await start(t)
  for (const url of ['/api/user', '/api/tokens', '/orders', '/api/task', '/health/live', '/openapi.json']) {
    const [get, head] = [await send(svc, tokens[0], ['GET', url]), await send(svc, tokens[0], ['HEAD', url])]
    t.equal(head.statusCode, get.statusCode, url)
    t.equal(head.body, '')
    t.equal(head.headers['content-type'], get.headers['content-type'])
  }
})

t.test('deletes a token by a form that posts _method', async (t) => {
  const { svc, tokens, count } = await start(t)
  const [first, second, third] = tokens
  const answer = await send(svc, first, ['POST', `/api/tokens/${idOf(second)}`], '_method=DELETE', form)
  t.equal(answer.statusCode, 200, answer.body)
  const json = await send(svc, first, ['POST', `/api/tokens/${idOf(third)}`], { _method: 'delete' })
  t.equal(json.statusCode, 200, json.body)
  t.equal(await count(), 1)
  const multipart = '--B\r\nContent-Disposition: form-data; name="_method"\r\n\r\nPUT\r\n'
  const name = '--B\r\nContent-Disposition: form-data; name="name"\r\n\r\nwëb\r\n--B--\r\n'
  const type = { 'content-type': 'multipart/form-data; boundary=B' }
  const put = await send(svc, first, ['POST', '/server/5'], multipart + name, type)
  t.match(put.json(), { id: 5, name: 'wëb' })
  t.equal((await send(svc, first, ['POST', '/api/tokens'], '_method=DELETE', form)).statusCode, 200)
  t.equal(await count(), 0)
})

t.test('accepts the method override header', async (t) => {
  const { svc, tokens, count } = await start(t)
  const [first, second] = tokens
  const header = { 'x-http-method-override': 'delete' }
  t.equal((await send(svc, first, ['POST', `/api/tokens/${idOf(second)}`], '', header)).statusCode, 200)
  const put = await send(svc, first, ['POST', '/server/5'], { name: 'x' }, { 'x-http-method-override': 'PUT' })
  t.equal(put.statusCode, 200, put.body)
  t.equal((await send(svc, first, ['GET', `/api/tokens/${idOf(first)}`], '', header)).statusCode, 405, 'only POST')
  t.equal((await send(svc, first, ['HEAD', '/api/tokens'], '', header)).statusCode, 200)
  t.equal(await count(), 2)
})

t.test('ignores an override to any other method', async (t) => {
  const { svc, tokens, count } = await start(t)
  const token = tokens[0]
  for (const method of [
    'GET',
    'HEAD',
    'OPTIONS',
    'TRACE',
    'CONNECT',
    'POST',
    'nonsense',
    '',
    'DELETE ',
    'DELETE, GET',
  ]) {
    const header = { 'x-http-method-override': method }
    const made = await send(svc, token, ['POST', '/tokens/create'], { token_name: 'x' }, header)
    t.equal(made.statusCode, 200, `header "${method}"`)
    t.equal((await send(svc, token, ['POST', '/api/tokens'], { _method: method })).statusCode, 405, method)
  }
  for (const method of [1, null, true, [], ['DELETE'], {}, { toString: 1 }, { toString: 'DELETE' }]) {
    t.equal((await send(svc, token, ['POST', '/api/tokens'], { _method: method })).statusCode, 405)
    const made = await send(svc, token, ['POST', '/tokens/create'], { token_name: 'x', _method: method })
    t.equal(made.statusCode, 200, JSON.stringify(method))
  }
  t.equal((await send(svc, token, ['POST', '/api/tokens?_method=DELETE'])).statusCode, 405, 'not from the query')
  t.equal((await send(svc, token, ['DELETE', '/api/tokens/0'], { _method: 'PUT' })).statusCode, 404, 'only POST')
  const missing = await send(svc, token, ['POST', '/tokens/create'], { token_name: 'x', _method: 'DELETE' })
  t.equal(missing.statusCode, 405)
  t.equal(missing.headers.allow, 'POST')
  t.equal(await count(), 21)
})

t.test('applies the guard, abilities and CSRF to overridden requests', async (t) => {
  const { svc, user, tokens, count } = await start(t)
  const url = `/api/tokens/${idOf(tokens[0])}`
  const narrow = await svc.createToken(user, { abilities: [] })
  const stranger = await svc.createToken(await svc.createUser())
  const header = { 'x-http-method-override': 'DELETE' }
  for (const token of [null, 'nonsense']) {
    t.equal((await send(svc, token, ['POST', url], '', header)).statusCode, 401)
    t.equal((await send(svc, token, ['POST', url], { _method: 'DELETE' })).statusCode, 401)
  }
  t.equal((await send(svc, stranger, ['POST', url], '_method=DELETE', form)).statusCode, 404)
  t.equal((await send(svc, narrow, ['POST', '/server/1'], '_method=PUT&name=x', form)).statusCode, 403)

  const spa = svc.browser()
  await spa.signIn(user.email)
  const csrf = [undefined, 'wrong']
  for (const value of csrf) {
    const more = { 'x-xsrf-token': value }
    t.equal((await spa.post(url, { _method: 'DELETE' }, more)).statusCode, 419)
    t.equal((await spa.post(url, undefined, { ...more, ...header })).statusCode, 419)
    t.equal((await spa.post('/server/1', { _method: 'PUT', name: 'x' }, more)).statusCode, 419)
    t.equal((await spa.post(url, { _method: 'DELETE', _token: 'wrong' })).statusCode, 419)
  }
  t.equal((await spa.get(url, header)).statusCode, 405)
  t.equal(await count(), 5, 'nothing was deleted')
  const token = await spa.cookie('XSRF-TOKEN')
  const field = await spa.post(url, { _method: 'DELETE', _token: token }, { 'x-xsrf-token': undefined })
  t.equal(field.statusCode, 200, 'a form sends both as fields')
  const put = await spa.post('/server/1', { _method: 'PUT', name: 'x' })
  t.equal(put.statusCode, 200, put.body)
  t.ok(put.headers['set-cookie'], 'the session cookies come with the answer')
  t.equal(await count(), 4)
})

t.test('answers, logs and applies CORS to an overridden request like any other', async (t) => {
  const { svc, tokens } = await start(t)
  svc.logs.length = 0
  const origin = 'http://localhost:5173'
  const body = { _method: 'DELETE' }
  const answer = await send(svc, tokens[0], ['POST', '/api/tokens/0'], body, { origin, 'user-agent': 'x' })
  t.equal(answer.statusCode, 404)
  t.equal(answer.headers['access-control-allow-origin'], origin)
  t.match(answer.json(), { code: 'not_found' })
  const lines = svc.logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
  t.match(lines.at(-1), { method: 'DELETE', route: '/api/tokens/:id', status: 404 })
})
