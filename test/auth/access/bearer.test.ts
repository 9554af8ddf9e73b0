import t from 'tap'
import { bearerOf } from '../../../src/auth/access/bearer-token.ts'
import { secretHash } from '../../../src/auth/tokens/token-string.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'

const ask = ({ app }: TestApp, authorization?: string, more: Record<string, string> = {}) =>
  app.inject({ url: '/api/user', headers: { ...(authorization === undefined ? {} : { authorization }), ...more } })

/** Replaces the secret in the row of a token. */
const setSecret = ({ database }: TestApp, id: number, secret: string) =>
  database.prisma.personalAccessToken.update({ where: { id: BigInt(id) }, data: { token: secretHash(secret) } })

t.test('rejects the twelve malformed bearers, whatever the table contains', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  await svc.createToken(user)
  await setSecret(svc, 1, 'test')
  t.equal((await ask(svc, 'Bearer 1|test')).statusCode, 200, 'the row exists')
  for (const text of ['', '|', '|test', '1ABC|test', '1ABC|', '1,2|test', '1|']) {
    t.equal((await ask(svc, text)).statusCode, 401, `"${text}"`)
    t.equal((await ask(svc, `Bearer ${text}`)).statusCode, 401, `"Bearer ${text}"`)
  }
  t.equal((await ask(svc, 'test')).statusCode, 401, 'no scheme')
  t.equal((await ask(svc, '1|test')).statusCode, 401, 'no scheme')
  t.equal((await ask(svc, 'Basic 1|test')).statusCode, 401, 'another scheme')
  t.equal((await ask(svc, 'Bearer: 1|test')).statusCode, 401)
  t.equal((await ask(svc, 'Bearer1|test')).statusCode, 401)
  t.equal((await ask(svc, 'Bearer\t1|test')).statusCode, 401)
})

t.test('reads the bearer after the last "Bearer", in any case, up to a comma', async (t) => {
  const svc = await buildTestApp(t)
  const token = await svc.createToken(await svc.createUser())
  const good = [`bearer ${token}`, `BEARER ${token}`, `Bearer ${token}, Bearer`, `Bearer ${token},x`]
  for (const text of [...good, `Bearer nonsense Bearer ${token}`, `Basic x, bEaReR ${token}`]) {
    t.equal((await ask(svc, text)).statusCode, 200, text.replace(token, '…'))
  }
  for (const text of [`Bearer ${token} Bearer nonsense`, `Bearer x,${token}`, `Bearer ,${token}`, `Bearer ${token}x`]) {
    t.equal((await ask(svc, text)).statusCode, 401, text.replace(token, '…'))
  }
  t.equal(bearerOf(undefined), null)
  t.equal(bearerOf('Bearer '), null)
  t.equal(bearerOf('Bearer  x '), 'x')
})

t.test('accepts ids of ASCII digits up to 64 bits', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createToken(await svc.createUser())
  await setSecret(svc, 1, 'test')
  t.equal((await ask(svc, 'Bearer 0001|test')).statusCode, 200, 'leading zeros do not change the number')
  const strange = ['+1', '-1', '0x1', '1e0', '1.0', '1 ', ' 1 ', '1_', '١', '１', '²', '0', '2', "1' OR '1'='1"]
  const large = ['9223372036854775807', '9223372036854775808', '18446744073709551617', '9'.repeat(400)]
  for (const id of [...strange, ...large, `${'0'.repeat(40)}1`, '4294967297']) {
    const answer = await ask(svc, `Bearer ${id}|test`)
    t.equal(answer.statusCode, 401, id)
    t.equal(answer.headers['www-authenticate'], 'Bearer error="invalid_token"')
  }
  for (const text of ['1|test\0', '1\0|test', '\x001|test', '1|te\0st', '1|test|', '1||test', '1|Test', '1|tést']) {
    t.equal((await ask(svc, `Bearer ${text}`)).statusCode, 401, JSON.stringify(text))
  }
  t.equal((await ask(svc, `Bearer 1|${'x'.repeat(10_000)}`)).statusCode, 401)
})

t.test('accepts the maximum id', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createToken(await svc.createUser())
  const id = 2n ** 63n - 1n
  await svc.database.prisma.personalAccessToken.updateMany({ data: { id, token: secretHash('test') } })
  t.equal((await ask(svc, `Bearer ${id}|test`)).statusCode, 200)
  t.equal((await ask(svc, `Bearer ${id - 1n}|test`)).statusCode, 401)
})

t.test('rejects an id with the secret of another token', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const [first = '', second = ''] = [await svc.createToken(user), await svc.createToken(user)]
  t.equal((await ask(svc, `Bearer ${first}`)).statusCode, 200)
  t.equal((await ask(svc, `Bearer 1|${second.split('|')[1]}`)).statusCode, 401)
  const row = await svc.database.prisma.personalAccessToken.findFirst({ where: { id: 1n } })
  t.equal((await ask(svc, `Bearer 1|${row?.token}`)).statusCode, 401, 'the stored hash is not accepted as a secret')
  t.equal((await ask(svc, `Bearer ${row?.token}`)).statusCode, 401, 'the stored hash is not accepted as a secret')
})

t.test('accepts secrets from before ids were part of the token, with dots too', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  await svc.createToken(user)
  for (const secret of ['x'.repeat(40), 'test', 'a.b', 'a.b.c.d']) {
    await setSecret(svc, 1, secret)
    const answer = await ask(svc, `Bearer ${secret}`)
    t.equal(answer.json().id, user.id, secret)
    t.equal((await ask(svc, `Bearer ${secret}x`)).statusCode, 401)
  }
})

t.test('never treats a JWT as an API token', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createToken(await svc.createUser())
  for (const text of ['eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.AA', 'a.b.c']) {
    await setSecret(svc, 1, text)
    const answer = await ask(svc, `Bearer ${text}`)
    t.equal(answer.statusCode, 401)
    t.equal(answer.headers['www-authenticate'], 'Bearer error="invalid_token"')
  }
  t.equal((await ask(svc, 'Bearer a.b.')).statusCode, 401, 'an unsigned JWT')
})

t.test('distinguishes a missing bearer from an invalid one in the 401 answer', async (t) => {
  const svc = await buildTestApp(t)
  const body = { message: 'Unauthenticated.', code: 'unauthenticated' }
  for (const [text, challenge] of [
    [undefined, 'Bearer'],
    ['Bearer ', 'Bearer'],
    ['Basic abc', 'Bearer'],
    ['Bearer nonsense', 'Bearer error="invalid_token"'],
    ['Bearer 1|nonsense', 'Bearer error="invalid_token"'],
    ['Bearer |', 'Bearer error="invalid_token"'],
  ] as const) {
    const answer = await ask(svc, text)
    t.equal(answer.statusCode, 401)
    t.same(answer.json(), body)
    t.equal(answer.headers['www-authenticate'], challenge, text ?? 'none')
    t.equal(answer.headers['set-cookie'], undefined)
  }
  const head = await svc.app.inject({ method: 'HEAD', url: '/api/user' })
  t.equal(head.statusCode, 401, 'HEAD is protected like GET')
})

t.test('prefers a session to a bearer, and does not look the bearer up', async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const token = await svc.createToken(bob, { abilities: [] })
  const spa = svc.browser()
  await spa.signIn(ada.email)
  for (const authorization of ['Bearer nonsense', 'Bearer |', 'Bearer a.b.c', `Bearer ${token}`]) {
    const me = await spa.get('/api/user', { authorization })
    t.equal(me.json().id, ada.id, authorization)
    t.equal((await spa.get('/orders', { authorization })).statusCode, 200, 'all abilities')
  }
  await svc.app.touches.flush()
  t.equal((await spa.get('/api/tokens')).json().length, 0)
  const row = await svc.database.prisma.personalAccessToken.findFirst()
  t.equal(row?.lastUsedAt, null, 'the token was not used')
})

t.test('uses the bearer where no session applies', async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const authorization = `Bearer ${await svc.createToken(bob)}`
  const spa = svc.browser()
  await spa.signIn(ada.email)
  const foreign = { origin: 'https://evil.example', referer: undefined }
  t.equal((await spa.get('/api/user', { ...foreign, authorization })).json().id, bob.id)
  t.equal((await spa.get('/api/user', { ...foreign, authorization: 'Bearer x' })).statusCode, 401, 'no fallback')
  t.equal((await spa.get('/api/user', foreign)).statusCode, 401)
  const stateful = { origin: 'http://localhost:5173' }
  const answer = await ask(svc, authorization, stateful)
  t.equal(answer.json().id, bob.id, 'a stateful Origin without a session')
  t.equal(answer.headers['set-cookie'], undefined)
  t.equal(
    (await svc.bearer(authorization.slice(7), 'DELETE', '/api/tokens')).statusCode,
    200,
    'a bearer needs no CSRF token',
  )
  await spa.post('/logout')
  t.equal((await spa.get('/api/user')).statusCode, 401)
  const fresh = await svc.createToken(bob)
  const unsafe = await spa.post('/tokens/create', { token_name: 'x' }, { authorization: `Bearer ${fresh}` })
  t.equal(unsafe.statusCode, 200, 'an anonymous session does not authenticate, so the bearer counts')
})

t.test('ignores cookies on guard routes with stateful_api: false', async (t) => {
  const svc = await buildTestApp(t, { settings: { stateful_api: false } })
  const user = await svc.createUser()
  const spa = svc.browser()
  t.equal((await spa.signIn(user.email)).statusCode, 200)
  t.equal((await spa.get('/api/user')).statusCode, 401)
  const authorization = `Bearer ${await svc.createToken(user)}`
  t.equal((await spa.get('/api/user', { authorization })).statusCode, 200)
})
