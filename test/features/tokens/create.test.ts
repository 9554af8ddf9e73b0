// engine: none
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { day, hour, minute } from '../../support/clock.ts'

const create = ({ bearer }: TestApp, token: string, body: object) => bearer(token, 'POST', '/tokens/create', body)
const list = async (svc: TestApp, token: string) => (await svc.bearer(token, 'GET', '/api/tokens')).json()
const wide = { token_name: 'x' }

/** The record of the token in an answer, as the token itself sees it. */
async function made(svc: TestApp, answer: LightMyRequestResponse) {
  const { token } = answer.json()
  return (await list(svc, token)).find(({ id }: { id: number }) => String(id) === token.split('|')[0])
}

t.test('creates a token on both paths, shows it once, and accepts it', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const first = await svc.createToken(user)
  for (const path of ['/tokens/create', '/api/tokens/create']) {
    const answer = await svc.bearer(first, 'POST', path, { token_name: '  Deploy ', abilities: ['a', 'b'] })
    t.equal(answer.statusCode, 200, answer.body)
    t.same(Object.keys(answer.json()).sort(), ['message', 'token'])
    t.match(answer.json().token, /^\d+\|[A-Za-z0-9]{40}[0-9a-f]{8}$/)
    const record = await made(svc, answer)
    t.same(record, {
      id: Number(answer.json().token.split('|')[0]),
      tokenable_type: 'user',
      tokenable_id: user.id,
      name: 'Deploy',
      abilities: ['a', 'b'],
      last_used_at: null,
      expires_at: null,
      created_at: '2026-11-20T12:00:00.000000Z',
      updated_at: '2026-11-20T12:00:00.000000Z',
    })
    t.equal((await svc.app.inject({ method: 'POST', url: path, payload: wide })).statusCode, 401)
    const spa = svc.browser()
    await spa.signIn(user.email)
    t.equal((await spa.post(path, wide)).statusCode, 200)
    t.equal((await spa.post(path, wide, { 'x-xsrf-token': 'wrong' })).statusCode, 419)
  }
  const secrets = svc.logs.filter((line) => line.includes(first.split('|')[1] ?? '-'))
  t.same(secrets, [], 'no log line contains a secret')
})

t.test("answers with Laravel's texts for every rule", async (t) => {
  const svc = await buildTestApp(t)
  const token = await svc.createToken(await svc.createUser())
  const long = 'ü'.repeat(256)
  const cases: [object, Record<string, string[]>][] = [
    [{}, { token_name: ['The token name field is required.'] }],
    [{ token_name: '' }, { token_name: ['The token name field is required.'] }],
    [{ token_name: '  ' }, { token_name: ['The token name field is required.'] }],
    [{ token_name: null }, { token_name: ['The token name field is required.'] }],
    [{ token_name: 7 }, { token_name: ['The token name field must be a string.'] }],
    [{ token_name: ['x'] }, { token_name: ['The token name field must be a string.'] }],
    [{ token_name: long }, { token_name: ['The token name field must not be greater than 255 characters.'] }],
    [{ ...wide, abilities: 'x' }, { abilities: ['The abilities field must be an array.'] }],
    [{ ...wide, abilities: { 0: '*' } }, { abilities: ['The abilities field must be an array.'] }],
    [
      { ...wide, abilities: Array(101).fill('x') },
      { abilities: ['The abilities field must not have more than 100 items.'] },
    ],
    [{ ...wide, abilities: ['a', 1] }, { 'abilities.1': ['The abilities.1 field must be a string.'] }],
    [{ ...wide, abilities: [['*']] }, { 'abilities.0': ['The abilities.0 field must be a string.'] }],
    [{ ...wide, abilities: [''] }, { 'abilities.0': ['The abilities.0 field is required.'] }],
    [{ ...wide, abilities: [null] }, { 'abilities.0': ['The abilities.0 field is required.'] }],
    [
      { ...wide, abilities: [long] },
      { 'abilities.0': ['The abilities.0 field must not be greater than 255 characters.'] },
    ],
    [{ ...wide, expires_at: 5 }, { expires_at: ['The expires at field must be a string.'] }],
  ]
  for (const bad of ['tomorrow', '2027', '2026-13-01', '2027-02-29', '2027-02-30T00:00:00Z', '2027-01-01T25:00:00Z']) {
    cases.push([{ ...wide, expires_at: bad }, { expires_at: ['The expires at field must be a valid date.'] }])
  }
  for (const bad of ['9999-12-31T23:59:59-23:59', '+012027-01-01', '2027-01-01T10:00:00+99:99', '1e9']) {
    cases.push([{ ...wide, expires_at: bad }, { expires_at: ['The expires at field must be a valid date.'] }])
  }
  for (const past of ['2026-11-20T12:00:00Z', '2026-11-20', '1970-01-01T00:00:00Z', '2026-11-20T13:00:00+02:00']) {
    cases.push([{ ...wide, expires_at: past }, { expires_at: ['The expires at field must be a date after now.'] }])
  }
  for (const [body, errors] of cases) {
    const answer = await create(svc, token, body)
    t.equal(answer.statusCode, 422, JSON.stringify(body).slice(0, 80))
    t.same(answer.json().errors, errors)
    t.equal(answer.json().message, Object.values(errors)[0]?.[0])
    t.equal(answer.json().code, 'validation_failed')
  }
  const two = await create(svc, token, { abilities: [1, ''] })
  t.equal(two.json().message, 'The token name field is required. (and 2 more errors)')
  t.equal((await list(svc, token)).length, 1, 'nothing was created')
  const most = { token_name: 'ü'.repeat(255), abilities: Array(100).fill('y'.repeat(255)) }
  t.equal((await create(svc, token, most)).statusCode, 200)
})

t.test('accepts an expiry with and without offset, time and seconds', async (t) => {
  const svc = await buildTestApp(t)
  const token = await svc.createToken(await svc.createUser())
  for (const [given, stored] of [
    ['2027-01-31', '2027-01-31T00:00:00.000000Z'],
    ['2028-02-29 08:30', '2028-02-29T08:30:00.000000Z'],
    ['2027-01-31T10:00:00', '2027-01-31T10:00:00.000000Z'],
    ['2027-01-31T10:00:00+02:00', '2027-01-31T08:00:00.000000Z'],
    ['2027-01-31T10:00:00-0530', '2027-01-31T15:30:00.000000Z'],
    ['2027-01-31t10:00:00.123456z', '2027-01-31T10:00:00.123000Z'],
    ['2027-01-31t10:00', '2027-01-31T10:00:00.000000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000000Z'],
    [null, null],
    ['', null],
  ] as const) {
    const answer = await create(svc, token, { ...wide, expires_at: given })
    t.equal(answer.statusCode, 200, `${given} ${answer.body}`)
    t.equal((await made(svc, answer)).expires_at, stored, String(given))
  }
  const soon = await create(svc, token, { ...wide, expires_at: '2026-11-20T12:01:00Z' })
  svc.clock.advance(minute)
  t.equal((await svc.bearer(soon.json().token, 'GET', '/api/user')).statusCode, 401)
})

t.test('reads an expiry without an offset as UTC in every time zone', async (t) => {
  const zone = process.env.TZ
  process.env.TZ = 'Asia/Tokyo'
  t.teardown(() => {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  })
  const svc = await buildTestApp(t)
  const token = await svc.createToken(await svc.createUser())
  for (const given of ['2027-01-31t10:00', '2027-01-31 10:00:00', '2027-01-31T10:00:00z']) {
    const answer = await create(svc, token, { ...wide, expires_at: given })
    t.equal((await made(svc, answer)).expires_at, '2027-01-31T10:00:00.000000Z', given)
    t.equal((await svc.bearer(answer.json().token, 'GET', '/api/user')).statusCode, 200)
  }
})

t.test('compares abilities exactly; only a lone * grants everything', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const orders = async (abilities: string[], query = '') =>
    (await svc.bearer(await svc.createToken(user, { abilities }), 'GET', `/orders${query}`)).statusCode
  t.equal(await orders(['*']), 200)
  t.equal(await orders(['x', '*']), 200)
  t.equal(await orders(['check-status', 'place-orders']), 200)
  t.equal(await orders([]), 403)
  const strange = ['**', '*:*', ' *', '* ', 'check-*', 'check-status ', 'CHECK-STATUS', 'check', '%', '.*', '﹡', '']
  t.equal(await orders(strange, '?any=1'), 403)
  const nothing = await create(svc, await svc.createToken(user), { ...wide, abilities: [] })
  t.same((await made(svc, nothing)).abilities, [])
  t.equal((await svc.bearer(nothing.json().token, 'GET', '/orders?any=1')).statusCode, 403)
})

t.test('limits a created token to the abilities of the token that creates it', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const narrow = await svc.createToken(user, { abilities: ['a', 'b', 'server:*', '**'] })
  for (const abilities of [['*'], [' * '], ['a', '*'], ['a', 'b', 'c'], ['server:update'], ['A'], ['*:*']]) {
    const answer = await create(svc, narrow, { ...wide, abilities })
    t.equal(answer.statusCode, 403, String(abilities))
    t.same(answer.json(), { message: 'Invalid ability provided.', code: 'invalid_ability' })
  }
  for (const [given, expected] of [
    [undefined, ['a', 'b', 'server:*', '**']],
    [null, ['a', 'b', 'server:*', '**']],
    [['b'], ['b']],
    [[], []],
    [['server:*'], ['server:*']],
  ] as const) {
    const answer = await create(svc, narrow, { ...wide, ...(given === undefined ? {} : { abilities: given }) })
    t.same((await made(svc, answer)).abilities, expected)
  }
  const empty = await svc.createToken(user, { abilities: [] })
  const child = await create(svc, empty, wide)
  t.same((await made(svc, child)).abilities, [], 'an empty list stays empty instead of the default')
  t.equal((await create(svc, empty, { ...wide, abilities: ['a'] })).statusCode, 403)
})

t.test('limits a created token to the expiry of the token that creates it', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const parent = await svc.createToken(user, { expiresAt: new Date(svc.clock.now() + hour) })
  const late = await create(svc, parent, { ...wide, expires_at: '2026-11-20T13:00:00.001Z' })
  t.equal(late.statusCode, 422)
  t.ok(late.json().errors.expires_at)
  const end = '2026-11-20T13:00:00.000000Z'
  for (const body of [wide, { ...wide, expires_at: null }, { ...wide, expires_at: end }]) {
    t.equal((await made(svc, await create(svc, parent, body))).expires_at, end)
  }
  const earlier = await create(svc, parent, { ...wide, expires_at: '2026-11-20T12:30:00Z' })
  t.equal((await made(svc, earlier)).expires_at, '2026-11-20T12:30:00.000000Z')
})

t.test('limits chains of tokens by the global expiration of the first', async (t) => {
  const svc = await buildTestApp(t, { settings: { expiration: '60m' } })
  const parent = await svc.createToken(await svc.createUser())
  svc.clock.advance(50 * minute)
  const child = (await create(svc, parent, wide)).json().token
  svc.clock.advance(10 * minute - 1)
  t.equal((await svc.bearer(child, 'GET', '/api/user')).statusCode, 200)
  svc.clock.advance(1)
  t.equal((await svc.bearer(child, 'GET', '/api/user')).statusCode, 401)
})

t.test('uses the configured prefix and default abilities', async (t) => {
  const settings = { tokens: { prefix: 'svc_', default_abilities: ['check-status'] } }
  const svc = await buildTestApp(t, { settings })
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const answer = await spa.post('/tokens/create', wide)
  t.match(answer.json().token, /^\d+\|svc_[A-Za-z0-9]{40}[0-9a-f]{8}$/)
  t.same((await made(svc, answer)).abilities, ['check-status'])
  t.equal((await spa.post('/tokens/create', { ...wide, abilities: ['*'] })).statusCode, 200, 'a session may have all')
  const device = { email: user.email, password: 'correct horse', device_name: 'Phone' }
  const login = await svc.bearer(null, 'POST', '/svc/token', device)
  t.same((await made(svc, login)).abilities, ['check-status'])
  svc.clock.advance(day)
  t.equal((await svc.bearer(login.json().token, 'GET', '/orders?any=1')).statusCode, 200)
})
