import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'

const put = ({ bearer }: TestApp, token: string | null, id: string | number, body: object = { name: 'web' }) =>
  bearer(token, 'PUT', `/server/${id}`, body)
const forbidden = { message: 'Forbidden', code: 'forbidden' }
const invalidAbility = { message: 'Invalid ability provided.', code: 'invalid_ability' }

t.test('assigns a server to its creator', async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const [own, foreign] = [await svc.createToken(ada, { abilities: ['server:update'] }), await svc.createToken(bob)]
  const made = await put(svc, own, 7, { name: ' web ' })
  t.equal(made.statusCode, 200, made.body)
  t.same(made.json(), { id: 7, name: 'web', user_id: ada.id })
  t.same((await put(svc, own, 7, { name: 'db' })).json(), { id: 7, name: 'db', user_id: ada.id })
  const taken = await put(svc, foreign, 7)
  t.equal(taken.statusCode, 403)
  t.same(taken.json(), forbidden)
  t.equal((await svc.database.prisma.sampleServer.findUnique({ where: { id: 7n } }))?.name, 'db')
  t.same((await put(svc, foreign, 8)).json(), { id: 8, name: 'web', user_id: bob.id })
  const spa = svc.browser()
  await spa.signIn(ada.email)
  t.equal((await spa.put('/server/7', { name: 'x' })).statusCode, 200)
  t.equal((await spa.put('/server/8', { name: 'x' })).statusCode, 403, 'a session grants no more than its user')
  t.equal((await spa.put('/server/7', { name: 'x' }, { 'x-xsrf-token': 'wrong' })).statusCode, 419)
})

t.test('gives an id to one of many concurrent claims', async (t) => {
  const svc = await buildTestApp(t)
  const users = await Promise.all(Array.from({ length: 8 }, () => svc.createUser()))
  const tokens = await Promise.all(users.map((user) => svc.createToken(user)))
  for (let id = 1; id <= 5; id++) {
    const answers = await Promise.all(tokens.map((token, i) => put(svc, token, id, { name: `of ${users[i]?.id}` })))
    const winners = answers.filter(({ statusCode }) => statusCode === 200)
    t.equal(winners.length, 1)
    t.equal(answers.filter(({ statusCode }) => statusCode === 403).length, 7)
    const row = await svc.database.prisma.sampleServer.findUnique({ where: { id: BigInt(id) } })
    t.equal(row?.name, `of ${row?.userId}`)
  }
})

t.test('reports errors in the order 401, 403, 404, 422', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  const narrow = await svc.createToken(user, { abilities: ['server:*', 'server', 'SERVER:UPDATE'] })
  t.equal((await put(svc, null, 'x', {})).statusCode, 401)
  for (const body of [{}, { name: 5 }, { name: 'web' }]) {
    const answer = await put(svc, narrow, 'x', body)
    t.equal(answer.statusCode, 403)
    t.same(answer.json(), forbidden)
  }
  for (const id of ['x', '-1', '9'.repeat(20), '9223372036854775808', '9223372036854775807', '9007199254740992']) {
    t.equal((await put(svc, token, id)).statusCode, 404, id)
  }
  t.equal((await put(svc, token, '9007199254740991')).json().id, Number.MAX_SAFE_INTEGER)
  t.same((await put(svc, token, 1, {})).json().errors, { name: ['The name field is required.'] })
  t.same((await put(svc, token, 1, { name: ['x'] })).json().errors, { name: ['The name field must be a string.'] })
  t.equal((await put(svc, token, 1, { name: 'x'.repeat(256) })).statusCode, 422)
})

t.test('requires both abilities for orders, or one with any=1', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const ask = async (abilities: string[], query = '') =>
    svc.bearer(await svc.createToken(user, { abilities }), 'GET', `/orders${query}`)
  const answer = await ask(['place-orders', 'check-status'])
  t.equal(answer.statusCode, 200)
  t.ok(Array.isArray(answer.json()))
  t.equal((await ask(['*'])).statusCode, 200)
  t.equal((await ask(['check-status'], '?any=1')).statusCode, 200)
  t.equal((await ask(['place-orders'], '?any=1')).statusCode, 200)
  for (const [abilities, query] of [
    [['check-status'], ''],
    [['place-orders'], ''],
    [[], ''],
    [[], '?any=1'],
    [['other'], '?any=1'],
    [['check-status'], '?any=0'],
    [['check-status'], '?any='],
    [['check-status'], '?any=true'],
    [['check-status'], '?ANY=1'],
  ] as const) {
    const refused = await ask([...abilities], query)
    t.equal(refused.statusCode, 403, `${abilities} ${query}`)
    t.same(refused.json(), invalidAbility)
  }
  t.equal((await svc.bearer(null, 'GET', '/orders')).statusCode, 401)
  t.equal((await ask(['check-status'], '?any=1&any=1')).statusCode, 422)
})

t.test('limits tasks to the caller', async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const viewer = await svc.createToken(ada, { abilities: ['view-tasks'] })
  const blind = await svc.createToken(ada, { abilities: [] })
  const other = await svc.createToken(bob)
  t.equal((await svc.bearer(null, 'GET', '/api/task')).statusCode, 401)
  t.equal((await svc.bearer(null, 'POST', '/api/task', { title: 'x' })).statusCode, 401)
  const refused = await svc.bearer(blind, 'GET', '/api/task')
  t.equal(refused.statusCode, 403)
  t.same(refused.json(), invalidAbility)
  const made = await svc.bearer(viewer, 'POST', '/api/task', { title: ' Write tests ' })
  t.equal(made.statusCode, 201, made.body)
  t.match(made.json(), { id: Number, title: 'Write tests' })
  t.same((await svc.bearer(viewer, 'GET', '/api/task')).json(), [made.json()])
  t.same((await svc.bearer(other, 'GET', '/api/task')).json(), [])
  const empty = await svc.bearer(viewer, 'POST', '/api/task', { title: '' })
  t.same(empty.json().errors, { title: ['The title field is required.'] })
})

t.test('answers 404 when the samples are off', async (t) => {
  const svc = await buildTestApp(t, { settings: { samples: false } })
  const token = await svc.createToken(await svc.createUser())
  for (const [method, url] of [
    ['PUT', '/server/1'],
    ['GET', '/orders'],
    ['GET', '/api/task'],
    ['POST', '/api/task'],
  ] as const) {
    const answer = await svc.bearer(token, method, url, method === 'GET' ? undefined : {})
    t.equal(answer.statusCode, 404, url)
    t.match(answer.json(), { message: String, code: 'not_found' })
    t.equal((await svc.bearer(null, method, url)).statusCode, 404)
  }
})
