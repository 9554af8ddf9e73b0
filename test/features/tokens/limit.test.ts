import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'

const max = 1_000
const error = 'This account already has 1,000 API tokens. Revoke one first.'

/** Creates tokens of the user, each last used one minute after the one before. */
async function fill({ database, clock }: TestApp, userId: number, count: number): Promise<void> {
  const start = clock.now() - 2 * max * minute
  await database.prisma.personalAccessToken.createMany({
    data: Array.from({ length: count }, (_, index) => ({
      tokenableType: 'user',
      tokenableId: BigInt(userId),
      name: `Device ${index}`,
      token: `${userId}-${index}`.padStart(64, '0'),
      abilities: '["*"]',
      createdAt: new Date(start),
      updatedAt: new Date(start),
      // One was never used, and is as old as the first.
      lastUsedAt: index === 1 ? null : new Date(start + index * minute),
    })),
  })
}

const namesOf = async ({ database }: TestApp, userId: number): Promise<string[]> => {
  const where = { tokenableType: 'user', tokenableId: BigInt(userId) }
  const rows = await database.prisma.personalAccessToken.findMany({ where, orderBy: { id: 'asc' } })
  return rows.map(({ name }) => name)
}

const eventsOf = async ({ database }: TestApp, type: string) => {
  const rows = await database.prisma.event.findMany({ where: { type }, orderBy: { id: 'asc' } })
  return rows.map(({ data }) => ({ data: JSON.parse(data) }))
}

t.test('limits a user to 1,000 API tokens', async (t) => {
  const svc = await buildTestApp(t, { settings: { i18n: { api: true }, rate_limits: { login: null } } })
  const ada = await svc.createUser()
  const signIn = (body: object = {}) =>
    svc.bearer(null, 'POST', '/svc/token', {
      email: ada.email,
      password: 'correct horse',
      device_name: 'Phone',
      ...body,
    })

  await t.test('refuses to create another token, and says what to do', async (t) => {
    await fill(svc, ada.id, max - 1)
    const browser = svc.browser()
    await browser.signIn(ada.email)
    const create = (headers = {}) => browser.post('/tokens/create', { token_name: 'Backup' }, headers)
    const answers = await Promise.all([create(), create()])
    t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 422])
    t.same(answers.find(({ statusCode }) => statusCode === 422)?.json().errors, { token_name: [error] })
    t.match((await create({ 'accept-language': 'de' })).json().message, /hat bereits 1\.000 API-Token\. Widerrufen Sie/)
    const [{ id }] = (await browser.get('/api/tokens')).json().slice(-1)
    t.equal((await browser.delete(`/api/tokens/${id}`)).statusCode, 200)
    t.equal((await create()).statusCode, 200)
    const other = await svc.createUser()
    const elsewhere = svc.browser()
    await elsewhere.signIn(other.email)
    t.equal((await elsewhere.post('/tokens/create', { token_name: 'x' })).statusCode, 200, 'counts for each user')
  })

  await t.test('lets a sign-in replace the least recently used token', async (t) => {
    const used = (await eventsOf(svc, 'token_revoked')).length
    t.equal((await signIn({ device_name: 'Tablet' })).statusCode, 200)
    t.equal((await signIn({ device_name: 'Watch' })).statusCode, 200)
    const names = await namesOf(svc, ada.id)
    t.equal(names.length, max)
    t.notOk(names.includes('Device 0') || names.includes('Device 1'), 'a token that was never used counts by its age')
    t.ok(names.includes('Device 2') && names.includes('Tablet') && names.includes('Watch'))
    const events = (await eventsOf(svc, 'token_revoked')).slice(used)
    t.match(events, [{ data: { cause: 'token_limit' } }, { data: { cause: 'token_limit' } }])
  })

  await t.test('deletes an expired token first', async (t) => {
    const where = { name: 'Device 500', tokenableId: BigInt(ada.id) }
    await svc.database.prisma.personalAccessToken.updateMany({
      where,
      data: { expiresAt: new Date(svc.clock.now() - minute) },
    })
    t.equal((await signIn()).statusCode, 200)
    const names = await namesOf(svc, ada.id)
    t.notOk(names.includes('Device 500'))
    t.ok(names.includes('Device 2'))
  })

  await t.test('keeps the limit when 30 devices sign in at the same time', async (t) => {
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => signIn({ device_name: `New ${index}` })))
    t.ok(answers.every(({ statusCode }) => statusCode === 200))
    const names = await namesOf(svc, ada.id)
    t.equal(names.length, max)
    t.equal(names.filter((name) => name.startsWith('New ')).length, 30)
    t.ok(names.includes('Device 32') && !names.includes('Device 31'))
    const live = await Promise.all(answers.map((answer) => svc.bearer(answer.json().token, 'GET', '/api/user')))
    t.ok(
      live.every(({ statusCode }) => statusCode === 200),
      'each new token works',
    )
  })

  await t.test('replaces one token of a user who has more, so that other devices keep theirs', async (t) => {
    const eve = await svc.createUser()
    await fill(svc, eve.id, max + 5)
    t.equal((await signIn({ email: eve.email })).statusCode, 200)
    t.equal((await namesOf(svc, eve.id)).length, max + 5)
  })
})
