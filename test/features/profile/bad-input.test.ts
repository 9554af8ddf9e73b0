import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { registration, strongPassword } from '../../support/accounts.ts'
import { buildTestApp, confirming, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { minute } from '../../support/clock.ts'

const password = 'correct horse'
type Method = 'POST' | 'PUT' | 'DELETE'

interface Route {
  method: Method
  url: string
  /** A valid body. */
  good: Record<string, string>
  /** Its fields, all of them texts. */
  fields: string[]
  /** Whether the request is authenticated. */
  signedIn: boolean
}

const change = { current_password: password, password: strongPassword, password_confirmation: strongPassword }
const newAccount = registration('grace@example.com')
const routes: Route[] = [
  { method: 'POST', url: '/register', good: newAccount, fields: ['name', 'email', 'password'], signedIn: false },
  {
    method: 'PUT',
    url: '/user/profile-information',
    good: { name: 'Ada', email: 'ada@example.com' },
    fields: ['name', 'email'],
    signedIn: true,
  },
  { method: 'PUT', url: '/user/password', good: change, fields: ['current_password', 'password'], signedIn: true },
  { method: 'POST', url: '/user/confirm-password', good: { password }, fields: ['password'], signedIn: true },
  { method: 'DELETE', url: '/user/other-sessions', good: { password }, fields: ['password'], signedIn: true },
]
const bodiless: [Method, string, number][] = [
  ['POST', '/email/verification-notification', 204],
  ['DELETE', '/user', 423],
]

/** Values that no text field accepts. */
const wrong: unknown[] = [
  null,
  '',
  0,
  5,
  -1.5,
  1e308,
  true,
  false,
  [],
  ['a'],
  [null],
  {},
  { a: { b: 'c' } },
  { length: 5 },
  { toString: 'x' },
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
]

async function visit(svc: TestApp, isSignedIn: boolean): Promise<Browser> {
  const spa = svc.browser()
  if (isSignedIn) await spa.signIn('ada@example.com')
  else await spa.get('/svc/csrf-cookie')
  return spa
}

/** Requirements on every answer to invalid input: a clear 4xx without internals. */
function isClear(t: Test, answer: LightMyRequestResponse, statuses: number[], name: string): void {
  t.ok(statuses.includes(answer.statusCode), `${name}: ${answer.statusCode} ${answer.body.slice(0, 200)}`)
  t.match(answer.json(), { message: String, code: String }, name)
  t.notMatch(answer.body, /prisma|sqlite|postgres|at \/|node_modules|argon2|SELECT|INSERT/i, name)
}

t.test('answers 422 with the field for values of other types, in each kind of body', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...confirming, rate_limits: { register: null, login: null } } })
  await svc.createUser({ email: 'ada@example.com' })
  const before = await svc.database.prisma.user.findMany()
  for (const { method, url, good, fields, signedIn } of routes) {
    const spa = await visit(svc, signedIn)
    for (const field of fields) {
      // One user may change only so much in a minute.
      svc.clock.advance(minute)
      for (const value of [...wrong, undefined]) {
        const answer = await spa.send(method, url, { ...good, [field]: value })
        const name = `${url} ${field} ${JSON.stringify(value)}`
        isClear(t, answer, [422], name)
        t.ok(answer.json().errors?.[field], `${name}: ${answer.body}`)
      }
      const form = new URLSearchParams({ ...good, [field]: '' }).toString()
      const empty = new RegExp(`(^|&)${field}=`)
      const list = form.replace(empty, `$1${field}[]=a&${field}[]=b`)
      for (const [type, payload] of [
        ['application/x-www-form-urlencoded', form],
        ['application/x-www-form-urlencoded', list],
        ['application/x-www-form-urlencoded', form.replace(empty, `$1${field}=%00`)],
        ['multipart/form-data; boundary=limit', multipart({ ...good, [field]: '' })],
        ['multipart/form-data; boundary=limit', multipart({ ...good, [field]: 'a\0' })],
      ] as const) {
        const answer = await spa.send(method, url, Buffer.from(payload), { 'content-type': type })
        isClear(t, answer, [422], `${url} ${field} ${type} ${payload}`)
        t.ok(answer.json().errors?.[field], `${url} ${field} ${answer.body}`)
      }
    }
  }
  t.strictSame(await svc.database.prisma.user.findMany(), before, 'nothing was changed')
  t.strictSame(failures(svc), [])
})

t.test('rejects unreadable bodies on every route', async (t) => {
  const svc = await buildTestApp(t, {
    settings: { ...confirming, rate_limits: { register: null, login: null, mail: null } },
  })
  await svc.createUser({ email: 'ada@example.com' })
  const before = await svc.database.prisma.user.findMany()
  const json = 'application/json'
  const bodies: [string, string, number[]][] = [
    [json, '{', [400]],
    [json, '[]', [400]],
    [json, 'null', [400, 422]],
    [json, '"x"', [400]],
    [json, '5', [400]],
    [json, '{"__proto__": {"isAdmin": true}, "name": "x"}', [400]],
    [json, '{"constructor": {"prototype": {"x": 1}}}', [400, 422]],
    [json, `{"name": ${'['.repeat(5000)}${']'.repeat(5000)}}`, [400, 422]],
    [json, `{${Array.from({ length: 2000 }, (_, i) => `"f${i}": 1`).join()}}`, [400]],
    [json, '{"a\\u0000b": 1}', [400]],
    [json, `{"name": "${'x'.repeat(1024 * 1024)}"}`, [413]],
    ['application/x-www-form-urlencoded', `name=${'x'.repeat(1024 * 1024)}`, [413]],
    ['text/plain', 'name=x', [415]],
    ['application/xml', '<name/>', [415]],
    ['multipart/form-data', 'x', [400]],
    ['multipart/form-data; boundary=limit', '--limit\r\nbroken', [400]],
    ['application/x-www-form-urlencoded', '__proto__[x]=1&constructor[prototype][x]=1', [422]],
  ]
  for (const { method, url, signedIn } of routes) {
    const spa = await visit(svc, signedIn)
    for (const [type, payload, statuses] of bodies) {
      const answer = await spa.send(method, url, Buffer.from(payload), { 'content-type': type })
      isClear(t, answer, statuses, `${url} ${type} ${payload.slice(0, 40)}`)
    }
  }
  for (const [method, url, usual] of bodiless) {
    const spa = await visit(svc, true)
    for (const [type, payload] of bodies) {
      const answer = await spa.send(method, url, Buffer.from(payload), { 'content-type': type })
      const name = `${method} ${url} ${payload.slice(0, 40)} ${answer.statusCode}`
      t.ok([usual, 400, 413, 415].includes(answer.statusCode), name)
    }
  }
  t.equal(Object.hasOwn(Object.prototype, 'x'), false)
  t.strictSame(await svc.database.prisma.user.findMany(), before)
  t.strictSame(failures(svc), [])
})

t.test('uses the last of two values for one name, as in JSON and forms', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await visit(svc, true)
  const url = '/user/profile-information'
  const twice = '{"name": "First", "email": "ada@example.com", "name": "Last"}'
  t.equal((await spa.send('PUT', url, Buffer.from(twice), { 'content-type': 'application/json' })).statusCode, 200)
  t.equal((await spa.get('/api/user')).json().name, 'Last')
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  t.equal((await spa.send('PUT', url, Buffer.from('name=A&name=B&email=ada@example.com'), form)).statusCode, 200)
  t.equal((await spa.get('/api/user')).json().name, 'B')
})

t.test('routes forms to PUT and DELETE by `_method`, through the same guards', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  await svc.createUser({ email: 'ada@example.com' })
  const spa = await visit(svc, true)
  const form = 'application/x-www-form-urlencoded'
  const profile = { _method: 'PUT', name: 'By form', email: 'ada@example.com' }
  const send = (url: string, payload: string, type: string, headers: object = {}) =>
    spa.post(url, Buffer.from(payload), { 'content-type': type, ...headers })
  const url = '/user/profile-information'
  const fields = (entries: Record<string, string>) => new URLSearchParams(entries).toString()
  t.equal((await send(url, fields(profile), form, { 'x-xsrf-token': undefined })).statusCode, 419)
  t.equal((await send(url, fields(profile), form)).statusCode, 200)
  t.equal((await spa.get('/api/user')).json().name, 'By form')
  const parts = { ...profile, name: 'By parts' }
  const viaParts = await send(url, multipart(parts), 'multipart/form-data; boundary=limit')
  t.equal(viaParts.statusCode, 200, viaParts.body)
  t.equal((await spa.get('/api/user')).json().name, 'By parts')
  t.equal((await spa.post(url, { ...profile, name: 'By JSON' })).statusCode, 200)
  t.equal((await spa.post(url, { ...profile, name: 5 })).statusCode, 422)
  t.equal((await spa.post(url, { ...profile, _method: 'PATCH' })).statusCode, 405)
  t.equal((await spa.post(url, { name: 'x' })).statusCode, 405)
  t.equal((await spa.post('/user', {}, { 'x-http-method-override': 'DELETE' })).statusCode, 423)
  const guest = await visit(svc, false)
  t.equal((await guest.post('/user', { _method: 'DELETE' })).statusCode, 401)
  t.equal((await spa.post('/user', { _method: 'DELETE' })).statusCode, 423)
  await spa.post('/user/confirm-password', { password })
  t.equal((await spa.post('/user', { _method: 'DELETE' })).statusCode, 200)
  t.equal(await svc.database.prisma.user.count(), 0)
})

function multipart(fields: Record<string, unknown>): string {
  const part = ([name, value]: [string, unknown]) =>
    `--limit\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  return `${Object.entries(fields).map(part).join('')}--limit--\r\n`
}

const failures = (svc: TestApp): string[] => svc.logs.filter((line) => /"level":"(error|fatal)"/.test(line))
