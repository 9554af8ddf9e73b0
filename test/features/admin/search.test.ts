import t from 'tap'
import { searchStatement } from '../../../src/identity/search.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { runCommand, runCommandOn } from '../../support/command.ts'

const emails = (lines: readonly string[]): string[] => lines.map((line) => JSON.parse(line).email)

async function openUsers(t: Parameters<typeof buildTestApp>[0]): Promise<TestApp> {
  const svc = await buildTestApp(t)
  const names = { 'ada@example.com': 'Ada Lovelace', 'al_an@example.com': 'Alan Turing', 'alxan@example.org': 'Adele' }
  for (const [email, name] of Object.entries(names)) {
    const { id } = await svc.createUser({ email, verified: email !== 'alxan@example.org' })
    await svc.database.prisma.user.update({ where: { id: BigInt(id) }, data: { name } })
  }
  return svc
}

t.test('finds users by the start of address or name, and takes wildcards literally', async (t) => {
  const svc = await openUsers(t)
  const find = async (...words: string[]) => emails(await runCommandOn(svc, 'user:find', ...words))
  t.same(await find('AD'), ['ada@example.com', 'alxan@example.org'], 'by address and by name, in any case')
  t.same(await find('alan t'), ['al_an@example.com'])
  t.same(await find('al_'), ['al_an@example.com'], 'an underscore is no wildcard')
  t.same(await find('%'), [])
  t.same(await find('lovelace'), [], 'only the start')
  t.same(await find('lovelace', '--inside'), ['ada@example.com'])
  t.same(await find('l_a', '--inside'), ['al_an@example.com'])
  t.same(await find("x' OR 1=1 --"), [])
})

t.test('filters users by address, provider, role and state, and continues after a cursor', async (t) => {
  const svc = await openUsers(t)
  const { prisma } = svc.database
  const ada = await prisma.user.update({ where: { email: 'ada@example.com' }, data: { role: 'admin' } })
  const now = new Date(svc.clock.now())
  const link = { provider: 'google', providerId: '1', createdAt: now, updatedAt: now }
  await prisma.socialAccount.create({ data: { ...link, userId: ada.id } })
  await runCommandOn(svc, 'user:disable', '--email=al_an@example.com')
  const find = async (...words: string[]) => emails(await runCommandOn(svc, 'user:find', ...words))
  t.same(await find('--email=ADA@example.com'), ['ada@example.com'])
  t.same(await find('--provider=google'), ['ada@example.com'])
  t.same(await find('--provider=github'), [])
  t.same(await find('--role=admin', 'ada'), ['ada@example.com'])
  t.same(await find('--role=admin', 'alan'), [])
  t.same(await find('--state=disabled'), ['al_an@example.com'])
  t.same(await find('--state=unverified'), ['alxan@example.org'])
  t.same(await find('--state=active'), ['ada@example.com', 'alxan@example.org'])
  const [first = ''] = await runCommandOn(svc, 'user:find', '--limit=1')
  t.equal(JSON.parse(first).email, 'ada@example.com')
  t.same(await find('--limit=1', `--after=${JSON.parse(first).id}`), ['al_an@example.com'])
  await t.rejects(find('--after=x'), { message: '--after must be the id of a user.' })
  t.notMatch(first, /password|\$argon2|secret/i)
})

t.test('searches by index', async (t) => {
  const svc = await openUsers(t)
  const { engine, prisma } = svc.database
  const { text, values } = searchStatement(engine, { text: 'ada' }, 0, 50)
  const plan = await prisma.$transaction(async (tx) => {
    if (engine === 'sqlite') {
      return tx.$queryRawUnsafe(`EXPLAIN QUERY PLAN ${text.replace(/\$(?=\d)/g, '?')}`, ...values)
    }
    // The table is too small for the planner to prefer an index.
    await tx.$executeRawUnsafe('SET LOCAL enable_seqscan = off')
    return tx.$queryRawUnsafe(`EXPLAIN ${text}`, ...values)
  })
  const steps = JSON.stringify(plan, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  t.match(steps, /users_lower_email_idx/)
  t.match(steps, /users_lower_name_idx/)
  t.notMatch(steps, /SCAN users|Seq Scan/)
})

t.test('shows a user with sessions, tokens, links and events, without secrets', async (t) => {
  const svc = await openUsers(t)
  const { prisma } = svc.database
  const ada = await prisma.user.findUniqueOrThrow({ where: { email: 'ada@example.com' } })
  await svc.browser().signIn('ada@example.com')
  const plain = await svc.createToken({ id: Number(ada.id) } as never, { name: 'phone' })
  const [line = ''] = await runCommandOn(svc, 'user:show', `--id=${ada.id}`)
  const shown = JSON.parse(line)
  t.match(shown, { email: 'ada@example.com', has_password: true, disabled: false, two_factor_enabled: false })
  t.match(shown.sessions, [{ id: String, ip_address: '203.0.113.77' }])
  t.match(shown.tokens, [{ name: 'phone' }])
  t.match(shown.events, [{ type: 'login', actor: `user:${ada.id}`, target: `user:${ada.id}`, outcome: 'success' }])
  t.same([shown.passkeys, shown.linked_accounts, shown.personal_access_tokens], [[], [], []])
  t.notOk(line.includes(plain.split('|')[1] ?? 'x'))
  t.notMatch(line, /\$argon2/)
  await t.rejects(runCommandOn(svc, 'user:show', '--email=nobody@example.com'), /find a user with that email/)
  await t.rejects(runCommandOn(svc, 'user:show', '--id=999'), /find a user with that id/)
  await t.rejects(runCommandOn(svc, 'user:show'), /email field is required/)
})

t.test('prints a table on a terminal, and JSON on request', async (t) => {
  const svc = await openUsers(t)
  const services = { config: svc.config, database: svc.database, now: svc.clock.now(), isTerminal: true }
  const lines = await runCommand(services, 'user:find', '--limit=2')
  t.match(lines[0], /^ID {2}EMAIL {12,}NAME {10,}ROLE {2}DISABLED/)
  t.match(lines[1], /^\d+ +ada@example\.com +Ada Lovelace +user +false/)
  t.match(lines[3], /^More users: --after=\d+$/)
  t.match((await runCommand(services, 'user:show', '--email=ada@example.com')).join('\n'), /^email +ada@example\.com$/m)
  t.same(emails(await runCommand(services, 'user:find', '--json', 'ada')), ['ada@example.com'])
})
