import t from 'tap'
import { secretHash } from '../../../src/auth/tokens/token-string.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { day, hour, minute, second } from '../../support/clock.ts'
import { testEngine } from '../../support/postgresql.ts'

const status = async (svc: TestApp, token: string) => (await svc.bearer(token, 'GET', '/api/user')).statusCode
const at = (svc: TestApp, offset: number) => new Date(svc.clock.now() + offset)
const rowOf = (svc: TestApp, token: string) =>
  svc.database.prisma.personalAccessToken.findUnique({ where: { id: BigInt(token.split('|')[0] ?? '') } })

t.test('accepts a token without an expiry', async (t) => {
  const svc = await buildTestApp(t)
  const token = await svc.createToken(await svc.createUser())
  svc.clock.advance(4000 * day)
  t.equal(await status(svc, token), 200)
})

t.test('expires a token at its own date, to the millisecond', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user, { expiresAt: at(svc, hour) })
  const past = await svc.createToken(user, { expiresAt: at(svc, -1) })
  t.equal(await status(svc, past), 401)
  svc.clock.advance(hour - 1)
  t.equal(await status(svc, token), 200)
  svc.clock.advance(1)
  t.equal(await status(svc, token), 401)
  t.ok(await rowOf(svc, token), 'the guard deletes nothing')
})

t.test("applies the earlier of the global expiration and the token's own", async (t) => {
  const svc = await buildTestApp(t, { settings: { expiration: '60m' } })
  const user = await svc.createUser()
  const plain = await svc.createToken(user)
  const later = await svc.createToken(user, { expiresAt: at(svc, 7 * day) })
  const sooner = await svc.createToken(user, { expiresAt: at(svc, 10 * minute) })
  const ageless = await svc.createToken(user)
  const id = BigInt(ageless.split('|')[0] ?? '')
  await svc.database.prisma.personalAccessToken.update({ where: { id }, data: { createdAt: null } })
  t.equal(await status(svc, ageless), 401, 'an unknown age counts as expired')
  t.same([await status(svc, plain), await status(svc, later), await status(svc, sooner)], [200, 200, 200])
  svc.clock.advance(10 * minute)
  t.same([await status(svc, plain), await status(svc, later), await status(svc, sooner)], [200, 200, 401])
  svc.clock.advance(50 * minute - 1)
  t.same([await status(svc, plain), await status(svc, later)], [200, 200])
  svc.clock.advance(1)
  t.same([await status(svc, plain), await status(svc, later)], [401, 401])
  const spa = svc.browser()
  await spa.signIn(user.email)
  svc.clock.advance(61 * minute)
  t.equal((await spa.get('/api/user')).statusCode, 200, 'sessions are not affected')
})

t.test('rejects a token whose owner is missing or disabled', async (t) => {
  const svc = await buildTestApp(t)
  const { prisma } = svc.database
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  const where = { id: BigInt(user.id) }
  await prisma.user.update({ where, data: { disabledAt: at(svc, 0) } })
  t.equal(await status(svc, token), 401, 'disabled')
  await prisma.user.update({ where, data: { disabledAt: null } })
  t.equal(await status(svc, token), 200)
  await prisma.personalAccessToken.updateMany({ data: { tokenableType: 'App\\Models\\Admin' } })
  t.equal(await status(svc, token), 401, 'another type of owner with the same id')
  await prisma.personalAccessToken.updateMany({ data: { tokenableType: 'user' } })
  t.equal(await status(svc, token), 200)
  await prisma.user.delete({ where })
  t.equal(await status(svc, token), 401, 'deleted')
  await prisma.personalAccessToken.deleteMany()
  t.equal(await status(svc, token), 401, 'a deleted row ends the token immediately')
})

t.test('rejects a revoked token on the next request, on every replica', async (t) => {
  const svc = await buildTestApp(t)
  const replica = await buildTestApp(t, { database: svc.where, clock: svc.clock })
  const token = await svc.createToken(await svc.createUser())
  t.equal(await status(replica, token), 200)
  t.equal((await svc.bearer(token, 'DELETE', '/api/tokens/current')).statusCode, 200)
  t.equal(await status(replica, token), 401)
  t.equal(await status(svc, token), 401)
})

t.test('records last_used_at once a minute, outside the request', async (t) => {
  const svc = await buildTestApp(t)
  const token = await svc.createToken(await svc.createUser())
  const used = async () => (await rowOf(svc, token))?.lastUsedAt?.getTime() ?? null
  const start = svc.clock.now()
  await status(svc, `${token}x`)
  await svc.app.touches.flush()
  t.equal(await used(), null, 'a rejected request does not count as use')
  await status(svc, token)
  t.equal(await used(), null, 'not written during the request')
  await svc.app.touches.flush()
  t.equal(await used(), start)
  svc.clock.advance(59 * second)
  await status(svc, token)
  await svc.app.touches.flush()
  t.equal(await used(), start, 'not again within a minute')
  svc.clock.advance(second)
  await status(svc, token)
  await svc.app.touches.flush()
  t.equal(await used(), start + minute)
  const [record] = (await svc.bearer(token, 'GET', '/api/tokens')).json()
  t.equal(record.last_used_at, '2026-11-20T12:01:00.000000Z')
})

t.test('looks up a hundred tokens together, unaffected by invalid ones', async (t) => {
  const svc = await buildTestApp(t)
  const users = [await svc.createUser(), await svc.createUser()]
  const tokens: { token: string; id: number }[] = []
  for (let i = 0; i < 50; i++) {
    const user = users[i % 2]
    if (user) tokens.push({ token: await svc.createToken(user), id: user.id })
  }
  const large = ['9223372036854775807|x', '9223372036854775808|x', `${'9'.repeat(19)}|x`, `${'9'.repeat(30)}|x`]
  const poison = [
    ...large,
    '1|\0',
    '\0',
    '1|\ud800',
    '\ud800',
    "'; DROP TABLE users; --",
    'a.b.c',
    '|',
    '1e1|x',
    '{1}|x',
  ]
  const asked = tokens.flatMap(({ token, id }, i) => [
    { bearer: token, expected: id },
    { bearer: poison[i % poison.length] ?? '', expected: undefined },
  ])
  const answers = await Promise.all(asked.map(({ bearer }) => svc.bearer(bearer, 'GET', '/api/user')))
  for (const [i, { bearer, expected }] of asked.entries()) {
    t.equal(answers[i]?.json().id, expected, JSON.stringify(bearer.slice(0, 20)))
    t.equal(answers[i]?.statusCode, expected === undefined ? 401 : 200)
  }
})

t.test('ignores invalid rows without failing', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  const good = await svc.createToken(user)
  const id = BigInt(token.split('|')[0] ?? '')
  for (const abilities of ['garbage', '', 'null', '{"*":true}', '"*"', '[1,{}]', '[["*"]]', null]) {
    await svc.database.prisma.personalAccessToken.update({ where: { id }, data: { abilities } })
    t.equal((await svc.bearer(token, 'GET', '/orders?any=1')).statusCode, 403, String(abilities))
    const list = await svc.bearer(good, 'GET', '/api/tokens')
    t.equal(list.statusCode, 200)
    t.same(list.json()[0].abilities, [])
  }
  if (testEngine === 'sqlite') {
    for (const end of ['2026-99-99 99:99:99', '1795000000000', '']) {
      await svc.database.prisma.$executeRaw`UPDATE personal_access_tokens SET expires_at = ${end} WHERE id = ${id}`
      t.equal(await status(svc, token), 401, 'an invalid expiry counts as past')
    }
  }
})

t.test('answers 503 while the database does not respond, never 401', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  await svc.createToken(user)
  await svc.database.prisma.personalAccessToken.update({ where: { id: 2n }, data: { token: secretHash('legacy') } })
  await svc.database.prisma.$executeRawUnsafe('ALTER TABLE personal_access_tokens RENAME TO away')
  for (const bearer of [token, 'legacy', '77|unknown']) {
    const answer = await svc.bearer(bearer, 'GET', '/api/user')
    t.equal(answer.statusCode, 503, answer.body)
    t.match(answer.headers['retry-after'], /^\d+$/)
    t.equal(answer.headers['www-authenticate'], undefined)
    t.match(answer.json(), { message: String, code: 'unavailable' })
    t.notOk(answer.body.includes('personal_access'), 'the cause stays hidden')
  }
  t.equal(
    (await svc.bearer('|', 'GET', '/api/user')).statusCode,
    401,
    'requests that need no database are still rejected',
  )
  await svc.database.prisma.$executeRawUnsafe('ALTER TABLE away RENAME TO personal_access_tokens')
  t.equal(await status(svc, token), 200, 'and it works again when the database is back')
  t.equal(await status(svc, 'legacy'), 200)
})
