import t from 'tap'
import { createToken } from '../../../src/auth/tokens/store.ts'
import { secretHash } from '../../../src/auth/tokens/token-string.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'

const idOf = (token: string): number => Number(token.split('|')[0])
const status = async (svc: TestApp, token: string) => (await svc.bearer(token, 'GET', '/api/user')).statusCode
const ids = async (svc: TestApp, token: string): Promise<number[]> =>
  (await svc.bearer(token, 'GET', '/api/tokens')).json().map(({ id }: { id: number }) => id)

/** An app with two users, the first of whom has two tokens. */
async function start(t: Parameters<typeof buildTestApp>[0]) {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const [first, second, foreign] = [await svc.createToken(ada), await svc.createToken(ada), await svc.createToken(bob)]
  return { svc, ada, bob, first, second, foreign }
}

t.test("lists the caller's own tokens, oldest first, without their secrets", async (t) => {
  const { svc, ada, first, second, foreign } = await start(t)
  t.same(await ids(svc, first), [idOf(first), idOf(second)])
  t.same(await ids(svc, foreign), [idOf(foreign)])
  const answer = await svc.bearer(first, 'GET', '/api/tokens')
  const keys = ['id', 'tokenable_type', 'tokenable_id', 'name', 'abilities', 'last_used_at', 'expires_at', 'created_at']
  for (const record of answer.json()) t.same(Object.keys(record), [...keys, 'updated_at'])
  t.notOk(/[0-9a-f]{64}/.test(answer.body), 'no hash')
  const narrow = await svc.createToken(ada, { abilities: [] })
  t.equal((await ids(svc, narrow)).length, 3, 'listing needs no ability')
  const spa = svc.browser()
  await spa.signIn(ada.email)
  t.equal((await spa.get('/api/tokens')).json().length, 3)
  const head = await svc.app.inject({
    method: 'HEAD',
    url: '/api/tokens',
    headers: { authorization: `Bearer ${first}` },
  })
  t.equal(head.statusCode, 200)
  t.equal(head.body, '')
})

t.test('revokes one token by its id immediately, and keeps the others', async (t) => {
  const { svc, first, second } = await start(t)
  const answer = await svc.bearer(first, 'DELETE', `/api/tokens/${idOf(second)}`)
  t.equal(answer.statusCode, 200, answer.body)
  t.match(answer.json(), { message: String })
  t.equal(await status(svc, second), 401)
  t.equal(await status(svc, first), 200)
  t.equal((await svc.bearer(first, 'DELETE', `/api/tokens/${idOf(second)}`)).statusCode, 404, 'gone after that')
  t.equal((await svc.bearer(first, 'DELETE', `/api/tokens/${idOf(first)}`)).statusCode, 200, 'also the current one')
  t.equal(await status(svc, first), 401)
})

t.test("answers 404 for another user's id and for invalid ids", async (t) => {
  const { svc, first, foreign } = await start(t)
  const impossible = ['0', '-1', '+1', '1.0', '1e3', 'abc', 'CURRENT', '9223372036854775807', '9223372036854775808']
  const long = [
    '9'.repeat(30),
    '1'.repeat(300),
    '%00',
    '1%00',
    '%F0%9F%92%A9',
    '%D9%A1',
    '1%2F2',
    '1%20',
    '%2e%2e',
    '1;2',
  ]
  for (const id of [String(idOf(foreign)), ...impossible, ...long]) {
    const answer = await svc.bearer(first, 'DELETE', `/api/tokens/${id}`)
    t.equal(answer.statusCode, 404, id.slice(0, 40))
    t.match(answer.json(), { message: String, code: 'not_found' })
  }
  t.equal((await svc.bearer(null, 'DELETE', `/api/tokens/${idOf(foreign)}`)).statusCode, 401)
  t.equal((await svc.bearer(null, 'DELETE', '/api/tokens/abc')).statusCode, 401, 'unauthenticated callers get 401')
  t.equal(await status(svc, foreign), 200)
})

t.test('revokes the current token; a session has none', async (t) => {
  const { svc, ada, first, second } = await start(t)
  const spa = svc.browser()
  await spa.signIn(ada.email)
  const refused = await spa.delete('/api/tokens/current')
  t.equal(refused.statusCode, 409)
  t.match(refused.json(), { message: String, code: 'no_current_token' })
  t.equal((await spa.delete('/api/tokens/current', undefined, { 'x-xsrf-token': 'wrong' })).statusCode, 419)
  const answer = await svc.bearer(first, 'DELETE', '/api/tokens/current')
  t.equal(answer.statusCode, 200)
  t.match(answer.json(), { message: String })
  t.equal(await status(svc, first), 401)
  t.equal(await status(svc, second), 200)
  const twice = await Promise.all([1, 2, 3].map(() => svc.bearer(second, 'DELETE', '/api/tokens/current')))
  t.same(twice.map(({ statusCode }) => statusCode).sort(), [200, 401, 401], 'a late request has no credential')
})

t.test("revokes all of the user's tokens together", async (t) => {
  const { svc, ada, first, second, foreign } = await start(t)
  const spa = svc.browser()
  await spa.signIn(ada.email)
  t.equal((await spa.delete('/api/tokens', undefined, { 'x-xsrf-token': undefined })).statusCode, 419)
  t.equal(await status(svc, first), 200)
  const answer = await spa.delete('/api/tokens')
  t.equal(answer.statusCode, 200, answer.body)
  t.match(answer.json(), { message: String })
  t.same([await status(svc, first), await status(svc, second), await status(svc, foreign)], [401, 401, 200])
  t.equal((await spa.delete('/api/tokens')).statusCode, 200, 'without any token it succeeds')
  t.equal((await spa.get('/api/user')).statusCode, 200, 'the session continues')
  t.equal((await svc.bearer(foreign, 'DELETE', '/api/tokens')).statusCode, 200)
  t.equal(await status(svc, foreign), 401, 'including the current one')
})

t.test('signs a bearer out by revoking only its token, without cookies', async (t) => {
  const { svc, first, second } = await start(t)
  const answer = await svc.bearer(first, 'POST', '/logout')
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), { message: 'Logged out.' })
  t.equal(answer.headers['set-cookie'], undefined)
  t.equal(await status(svc, first), 401)
  t.equal(await status(svc, second), 200)
  t.equal((await svc.bearer(first, 'POST', '/logout')).statusCode, 401)
  t.equal((await svc.bearer(null, 'POST', '/logout')).statusCode, 401)
  const stateful = { authorization: `Bearer ${second}`, origin: 'http://localhost:5173' }
  const fromPage = await svc.app.inject({ method: 'POST', url: '/logout', headers: stateful })
  t.equal(fromPage.statusCode, 200, 'CSRF is checked only for sessions')
  t.equal(await status(svc, second), 401)
})

t.test('records token events without secrets', async (t) => {
  const { svc, ada, first, second } = await start(t)
  await svc.bearer(first, 'POST', '/tokens/create', { token_name: 'x' })
  await svc.bearer(first, 'DELETE', `/api/tokens/${idOf(second)}`)
  await svc.bearer(first, 'DELETE', '/api/tokens')
  const events = await svc.database.prisma.event.findMany({ orderBy: { id: 'asc' } })
  t.same(
    events.map(({ type, userId }) => [type, Number(userId)]),
    [
      ['token_created', ada.id],
      ['token_revoked', ada.id],
      ['tokens_revoked', ada.id],
    ],
  )
  t.notOk(JSON.stringify(events.map(({ data }) => data)).includes('|'))
})

t.test('returns the record and the plain text on creation, and stores only the hash', async (t) => {
  const svc = await buildTestApp(t)
  const { id: userId } = await svc.createUser()
  const now = svc.clock.now()
  const facts = { userId, name: 'code', abilities: ['a'], expiresAt: new Date(now + 1_234), prefix: 'svc_', now }
  const { accessToken, plainTextToken } = await svc.database.transaction((tx) => createToken(tx, facts))
  const [id = '', secret = ''] = plainTextToken.split('|')
  t.match(secret, /^svc_[A-Za-z0-9]{40}[0-9a-f]{8}$/)
  t.match(accessToken, { id: Number(id), name: 'code', abilities: ['a'], expires_at: '2026-11-20T12:00:01.234000Z' })
  t.notOk('token' in accessToken)
  const row = await svc.database.prisma.personalAccessToken.findUnique({ where: { id: BigInt(id) } })
  t.equal(row?.token, secretHash(secret))
  t.equal(row?.abilities, '["a"]')
  t.equal(row?.tokenableType, 'user')
  t.equal(row?.expiresAt?.getTime(), now + 1_234)
})

t.test('leaves no valid token that a revoked token created concurrently', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  for (let i = 0; i < 10; i++) {
    const [stolen, own] = [await svc.createToken(user), await svc.createToken(user)]
    const make = () => svc.bearer(stolen, 'POST', '/tokens/create', { token_name: 'child' })
    const early = [make(), make(), make()]
    const revoked = svc.bearer(own, 'DELETE', '/api/tokens')
    const answers = await Promise.all([...early, make(), make(), make()])
    t.equal((await revoked).statusCode, 200)
    for (const { statusCode } of answers) t.ok([200, 401].includes(statusCode), String(statusCode))
    t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
  }
})
