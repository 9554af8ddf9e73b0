import t from 'tap'
import { openDatabase } from '../../src/database/database.ts'
import { createToken } from '../../src/tokens/store.ts'
import { failed, openShell } from '../support/shell.ts'

// Each command is a process.
const hour = 3_600_000

t.test('shows the usage for an unknown command', async (t) => {
  const { run } = await openShell(t)
  failed(t, await run('', 'nonsense'), /^Unknown command nonsense\.\n\nUsage: svc <command>/)
  failed(t, await run('', 'svc:nonsense'), /^Unknown command svc:nonsense\./)
  failed(t, await run('', 'user:list', '--all'), /^Unknown option --all\.\n\nUsage:/)
  failed(t, await run('', 'user:list', 'all'), /^Unknown option all\./)
  failed(t, await run('', 'config:check', '--strict'), /^Unknown option --strict\./)
  failed(t, await run('', 'user:create', '--email'), /^--email requires a value: --email=…\n$/)
  failed(t, await run('', 'user:create', '--verified=yes'), /^--verified does not take a value\.\n$/)
  for (const words of [[], ['help'], ['--help']]) {
    const { code, stdout, stderr } = await run('', ...words)
    t.same([code, stderr], [0, ''])
    const named = ['user:create', 'user:update', 'user:list', 'prune-expired', 'config:check']
    for (const name of named) t.match(stdout, `\n  ${name}`)
  }
})

t.test('prunes expired tokens by their age', async (t) => {
  const { run, database } = await openShell(t)
  await run('secret\n', 'user:create', '--email=ada@example.com', '--name=Ada')
  const db = await openDatabase(database)
  t.teardown(db.close)
  const now = Date.now()
  const facts = { userId: 1, abilities: ['*'], prefix: '', now }
  for (const [name, ago] of Object.entries({ old: 25 * hour, fresh: 2 * hour, live: -hour })) {
    await db.transaction((tx) => createToken(tx, { ...facts, name, expiresAt: new Date(now - ago) }))
  }
  await db.transaction((tx) => createToken(tx, { ...facts, name: 'endless', expiresAt: null }))
  const names = async () =>
    (await db.prisma.personalAccessToken.findMany({ orderBy: { id: 'asc' } })).map(({ name }) => name)

  for (const hours of ['x', '-1', '1.5', '', '1e2', 'Infinity', '99999999999']) {
    failed(t, await run('', 'prune-expired', `--hours=${hours}`), /--hours must be an integer/)
  }
  t.equal((await names()).length, 4)
  const byDefault = await run('', 'svc:prune-expired')
  t.equal(byDefault.code, 0, byDefault.stderr)
  t.match(byDefault.stdout, /^1 expired token deleted\.$/m)
  t.same(await names(), ['fresh', 'live', 'endless'])
  const all = await run('', 'prune-expired', '--hours=0')
  t.match(all.stdout, /^1 expired token deleted\.$/m)
  t.same(await names(), ['live', 'endless'])
  t.match((await run('', 'prune-expired', '--hours=1')).stdout, /^0 expired tokens deleted\.$/m)
})
