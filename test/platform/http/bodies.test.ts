// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'

/** Sends a raw body to a route with a bearer. */
const send = ({ app }: TestApp, token: string, payload: string | Buffer, type: string | null, url = '/tokens/create') =>
  app.inject({
    method: 'POST',
    url,
    payload,
    headers: { authorization: `Bearer ${token}`, ...(type === null ? {} : { 'content-type': type }) },
  })

async function start(t: Parameters<typeof buildTestApp>[0]) {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  const newest = async () => (await svc.bearer(token, 'GET', '/api/tokens')).json().at(-1)
  return { svc, user, token, newest }
}

t.test('answers 400 to invalid JSON and to values other than objects', async (t) => {
  const { svc, token } = await start(t)
  const broken = [
    '{',
    '{"token_name":"x"',
    '{"token_name":"x"}}',
    "{'a':1}",
    '{a:1}',
    'x',
    '\0',
    '{"a":1,}',
    'NaN',
    '[1,',
  ]
  for (const body of [...broken, '[]', '["x"]', '"text"', '5', 'true', '[null]']) {
    for (const url of ['/tokens/create', '/svc/token', '/api/task']) {
      const answer = await send(svc, token, body, json, url)
      t.equal(answer.statusCode, 400, `${url} ${body}`)
      const message = broken.includes(body) ? /^The request body is not valid JSON\.$/ : /must be an object/
      t.match(answer.json(), { message, code: 'malformed_body' })
    }
  }
  for (const body of ['', 'null', '{}']) {
    const answer = await send(svc, token, body, json)
    t.equal(answer.statusCode, 422, `an empty body counts as an object without fields: "${body}"`)
    t.ok(answer.json().errors.token_name)
  }
})

t.test('rejects or ignores names that reach a prototype', async (t) => {
  const { svc, token, newest } = await start(t)
  for (const body of [
    '{"token_name":"x","__proto__":{"abilities":[]}}',
    '{"token_name":"x","constructor":{"prototype":{"abilities":[]}}}',
    '{"token_name":"x","abilities":{"__proto__":["*"]}}',
  ]) {
    t.equal((await send(svc, token, body, json)).statusCode, 400, body)
  }
  t.equal((await send(svc, token, '{"token_name":"x","constructor":"y","toString":1}', json)).statusCode, 200)
  for (const body of ['__proto__=1', '__proto__[]=1', '__proto__[0]=1', 'constructor=1', 'hasOwnProperty=1']) {
    t.equal((await send(svc, token, `token_name=x&${body}`, form)).statusCode, 200, body)
  }
  t.same((await newest()).abilities, ['*'])
  t.equal(Reflect.get({}, 'abilities'), undefined)
})

t.test('uses the last value of a duplicate key', async (t) => {
  const { svc, token, newest } = await start(t)
  await send(svc, token, '{"token_name":"a","token_name":"b"}', json)
  t.equal((await newest()).name, 'b')
  await send(svc, token, 'token_name=c&token_name=d', form)
  t.equal((await newest()).name, 'd')
})

t.test('answers 415 to other content types', async (t) => {
  const { svc, token } = await start(t)
  const body = '{"token_name":"x"}'
  const types = [
    'text/plain',
    'text/html',
    'application/xml',
    'application/octet-stream',
    'application/jsonx',
    'json',
    '*/*',
  ]
  for (const type of [...types, 'multipart/mixed; boundary=x', null]) {
    const answer = await send(svc, token, body, type)
    t.equal(answer.statusCode, 415, String(type))
    t.match(answer.json(), { message: /Send application\/json\.$/, code: 'unsupported_media_type' })
  }
  for (const type of ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;charset=x']) {
    t.equal((await send(svc, token, body, type)).statusCode, 200, type)
  }
  t.equal((await send(svc, token, body, 'text/plain', '/login')).statusCode, 415, 'before CSRF')
})

t.test('answers 413 to more than 100 KiB, or 401 without a valid token', async (t) => {
  const { svc, token } = await start(t)
  const large = JSON.stringify({ token_name: 'x', more: 'y'.repeat(101 * 1024) })
  for (const type of [json, form, 'multipart/form-data; boundary=x']) {
    const answer = await send(svc, token, large, type)
    t.equal(answer.statusCode, 413, type)
    t.match(answer.json(), { message: String, code: 'body_too_large' })
  }
  t.equal((await send(svc, 'unknown', large, json)).statusCode, 401, 'unauthenticated callers get 401 first')
  const fitting = JSON.stringify({ token_name: 'x', more: 'y'.repeat(99 * 1024) })
  t.equal((await send(svc, token, fitting, json)).statusCode, 200)
})

t.test('answers 422 to NUL and lone surrogates in values, and 400 in names', async (t) => {
  const { svc, user, token } = await start(t)
  const bad = ['a\\u0000', '\\u0000', '\\ud800', '\\udc00\\ud800', '\\udfff x']
  for (const text of bad) {
    for (const [body, field] of [
      [`{"token_name":"${text}"}`, 'token_name'],
      [`{"token_name":"x","abilities":["a","${text}"]}`, 'abilities.1'],
      [`{"token_name":"x","expires_at":"${text}"}`, 'expires_at'],
      [`{"token_name":"x","other":{"deep":["${text}"]}}`, 'other.deep.0'],
    ] as const) {
      const answer = await send(svc, token, body, json)
      t.equal(answer.statusCode, 422, body)
      t.same(Object.keys(answer.json().errors), [field])
    }
    const login = `{"email":"${user.email}","password":"${text}","device_name":"x"}`
    t.equal((await send(svc, token, login, json, '/svc/token')).statusCode, 422)
    t.equal((await send(svc, token, `{"token_name":"x","${text}":1}`, json)).statusCode, 400)
  }
  t.equal((await send(svc, token, 'token_name=a%00', form)).statusCode, 422)
  t.equal(
    (await send(svc, token, '{"token_name":"\\ud83d\\ude00 ☃"}', json)).statusCode,
    200,
    'a surrogate pair is a character',
  )
  t.equal((await send(svc, token, Buffer.from('{"token_name":"\xff\xfe"}', 'latin1'), json)).statusCode, 200)
  t.equal((await send(svc, token, 'token_name=%ff%fe%zz', form)).statusCode, 200)
})

t.test('answers 400 to deep nesting', async (t) => {
  const { svc, token } = await start(t)
  const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const objects = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`
  for (const value of [deep(33), deep(10_000), deep(50_000), objects]) {
    t.equal((await send(svc, token, `{"token_name":"x","a":${value}}`, json)).statusCode, 400)
    t.equal((await send(svc, token, `{"token_name":${value}}`, json)).statusCode, 400)
    t.equal((await send(svc, token, value, json)).statusCode, 400)
    t.equal((await send(svc, token, `{"_method":"DELETE","a":${value}}`, json, '/api/tokens')).statusCode, 400)
    t.equal((await send(svc, token, `{"_method":${value}}`, json, '/api/tokens')).statusCode, 405)
    t.equal((await send(svc, token, `{"a":${value}}`, json, '/api/user')).statusCode, 405)
  }
  t.equal((await send(svc, token, `{"token_name":"x","a":${deep(30)}}`, json)).statusCode, 200)
  t.equal(
    (await send(svc, token, `{"a":${deep(10_000)}}`, json, '/logout')).statusCode,
    200,
    'a body that no route reads',
  )
})

t.test('answers a body of very many values with a short 400', async (t) => {
  const { svc, token } = await start(t)
  const list = (text: string, count: number) => `[${Array(count).fill(text).join()}]`
  const key = 'k'.repeat(20_000)
  for (const [body, status] of [
    [`{"token_name":"x","abilities":${list('1', 45_000)}}`, 400],
    [`{"token_name":"x","abilities":${list('""', 25_000)}}`, 400],
    [`{"token_name":"x","${key}":${list('"\\u0000"', 5_500)}}`, 400],
    [`{"token_name":"x","${key}":${list('"\\u0000"', 900)}}`, 422],
    [`{"token_name":"x","a":${list(list('1', 99), 12)}}`, 400],
    [`{"token_name":"x","a":${list('1', 990)}}`, 200],
  ] as const) {
    const answer = await send(svc, token, body, json)
    t.equal(answer.statusCode, status, body.slice(0, 60))
    t.ok(answer.body.length < 100_000, 'the answer is no larger than the maximum request')
  }
  const keys = Array.from({ length: 15_000 }, (_, i) => `k${i}`).join('&')
  t.equal((await send(svc, token, keys, form)).statusCode, 400)
})

t.test('reads forms and multipart bodies as fields, and name[] as lists', async (t) => {
  const { svc, token, newest } = await start(t)
  const fields: [string, string][] = [
    ['token_name', ' Förm '],
    ['abilities[]', 'a'],
    ['abilities[]', 'b'],
    ['expires_at', ''],
  ]
  const parts = fields.map(
    ([name, value]) => `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const multipart = 'multipart/form-data; boundary=B'
  const file = '--B\r\nContent-Disposition: form-data; name="token_name"; filename="f"\r\n\r\nfile\r\n'
  for (const [body, type] of [
    [new URLSearchParams(fields).toString(), form],
    [`${parts.join('')}--B--\r\n`, multipart],
    [`${parts.join('')}${file}--B--\r\n`, multipart],
  ] as const) {
    const answer = await send(svc, token, body, type)
    t.equal(answer.statusCode, 200, answer.body)
    t.match(await newest(), { name: 'Förm', abilities: ['a', 'b'], expires_at: null })
  }
  await send(svc, token, 'token_name=x&abilities[0]=c&abilities%5B1%5D=d', form)
  t.same((await newest()).abilities, ['c', 'd'], 'also with indices: a list never becomes a wildcard silently')
  for (const body of [
    'token_name=x&abilities=a',
    'token_name[]=x',
    'token_name=x&abilities[]=',
    'abilities[]=x&abilities=',
  ]) {
    t.equal((await send(svc, token, body, form)).statusCode, 422, body)
  }
  for (const body of [
    '',
    '--B',
    '--B--',
    'x',
    '--B\r\n\r\n',
    `${parts[0]}`,
    '--B\r\nContent-Disposition: x\r\n\r\n\r\n--B--',
  ]) {
    const answer = await send(svc, token, body, multipart)
    t.ok([400, 422].includes(answer.statusCode), `${JSON.stringify(body)} ${answer.statusCode}`)
  }
  for (const type of ['multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; boundary="é"']) {
    t.equal((await send(svc, token, parts.join(''), type)).statusCode, 400, type)
  }
})
