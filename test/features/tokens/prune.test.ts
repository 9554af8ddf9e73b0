import t from 'tap'
import { pruneExpiredTokens } from '../../../src/auth/tokens/prune.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { runCommandOn } from '../../support/command.ts'

interface Age {
  created?: number
  expired?: number
}

/** Creates tokens that were created, or expired, this many minutes ago. */
async function make(svc: TestApp, ages: Record<string, Age>): Promise<void> {
  const user = await svc.createUser()
  const ago = (minutes: number) => new Date(svc.clock.now() - minutes * minute)
  for (const [name, { created = 0, expired }] of Object.entries(ages)) {
    await svc.createToken(user, { name, expiresAt: expired === undefined ? null : ago(expired) })
    await svc.database.prisma.personalAccessToken.updateMany({ where: { name }, data: { createdAt: ago(created) } })
  }
}

const names = async ({ database }: TestApp): Promise<string[]> =>
  (await database.prisma.personalAccessToken.findMany({ orderBy: { name: 'asc' } })).map(({ name }) => name)

const prune = (svc: TestApp, ...words: string[]): Promise<string[]> => runCommandOn(svc, 'prune-expired', ...words)

t.test('deletes tokens two hours after the global expiration of one hour with --hours=2', async (t) => {
  const svc = await buildTestApp(t, { settings: { expiration: '60m' } })
  await make(svc, {
    '181': { created: 181 },
    '180': { created: 180 },
    '179': { created: 179 },
    '121': { created: 121 },
  })
  t.same(await prune(svc, '--hours=2'), ['1 expired token deleted.'])
  t.same(await names(svc), ['121', '179', '180'])
})

t.test('keeps tokens without an expiry when there is no global expiration', async (t) => {
  const svc = await buildTestApp(t)
  await make(svc, { ancient: { created: 9_999_999 } })
  t.match((await prune(svc, '--hours=2')).join(), /No global expiration.*0 expired tokens deleted/)
  t.same(await names(svc), ['ancient'])
})

t.test('deletes tokens two hours after their own expiry, and keeps those without one', async (t) => {
  const svc = await buildTestApp(t)
  await make(svc, {
    '121': { expired: 121 },
    '120': { expired: 120 },
    '119': { expired: 119 },
    null: {},
    to: { expired: -9 },
  })
  await prune(svc, '--hours=2')
  t.same(await names(svc), ['119', '120', 'null', 'to'])
})

t.test('defaults to a day, and requires whole hours', async (t) => {
  const svc = await buildTestApp(t)
  await make(svc, { a: { expired: 24 * 60 + 1 }, b: { expired: 24 * 60 - 1 } })
  for (const hours of ['', '-1', '1.5', 'x', ' ', '1e3', '0x1', '1000000', '9'.repeat(20)])
    await t.rejects(prune(svc, `--hours=${hours}`), /an integer/)
  t.same(await names(svc), ['a', 'b'])
  await prune(svc)
  t.same(await names(svc), ['b'])
  for (const hours of ['99999', '999999']) {
    t.equal((await prune(svc, `--hours=${hours}`)).at(-1), '0 expired tokens deleted.')
  }
  t.same(await names(svc), ['b'])
  await prune(svc, '--hours=0')
  t.same(await names(svc), [])
})

t.test('deletes several batches in one run', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const date = new Date(0)
  const data = Array.from({ length: 2_500 }, (_, i) => ({
    tokenableType: 'user',
    tokenableId: BigInt(user.id),
    name: 'old',
    token: String(i).padStart(64, '0'),
    abilities: '[]',
    expiresAt: date,
    createdAt: date,
    updatedAt: date,
  }))
  await svc.database.prisma.personalAccessToken.createMany({ data })
  await svc.createToken(user)
  t.equal(await pruneExpiredTokens(svc.database, svc.config.current(), 24 * 3_600_000, svc.clock.now()), 2_500)
  t.same(await names(svc), ['test'])
})
