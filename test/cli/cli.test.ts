import t from 'tap'
import { createToken } from '../../src/auth/tokens/store.ts'
import { openDatabase } from '../../src/platform/database/database.ts'
import { version } from '../../src/platform/version.ts'
import { failed, openShell } from '../support/shell.ts'

// Each command is a process.
const hour = 3_600_000

t.test('reports what is wrong with a command line on standard error, and exits with 1', async (t) => {
  const { run } = await openShell(t)
  const cases: [line: string, message: string][] = [
    ['usr:list', 'Unknown command usr:list. Did you mean user:list?\nList the commands: svc --help\n'],
    ['user:update --rol=x', 'Unknown option --rol. Did you mean --role?\nShow the options: svc user:update --help\n'],
    ['config:check --strict', 'Unknown option --strict.\nShow the options: svc config:check --help\n'],
    ['prune-expired --hours x', '--hours must be an integer from 0 to 999999, got "x".\n'],
  ]
  for (const [line, message] of cases) {
    t.strictSame(await run('', ...line.split(' ')), { code: 1, stdout: '', stderr: message }, line)
  }
})

t.test('shows help for the program and for a command, and the version', async (t) => {
  const { run } = await openShell(t)
  const printed = async (...words: string[]) => {
    const { code, stdout, stderr } = await run('', ...words)
    t.same([code, stderr], [0, ''])
    return stdout
  }
  const help = await printed()
  t.equal(await printed('--help'), help)
  t.match(help, /^Usage: svc <command> \[options\]\n/)
  for (const name of ['user:create', 'user:update', 'user:list', 'prune-expired', 'config:check']) {
    t.match(help, `\n  ${name} `)
  }
  const update = await printed('user:update', '--role=x', '--help')
  t.match(update, /^Usage: svc user:update \[options\]\n/)
  t.match(update, /^ {2}--disable {2,}Disable the account, .*\(cannot be combined with --enable\)$/m)
  t.equal(await printed('help', 'svc:user:update'), update)
  t.equal(await printed('--version'), `${version}\n`)
})

t.test('accepts the value of an option after a space or an equals sign', async (t) => {
  const { run } = await openShell(t)
  const create = async (...words: string[]) => JSON.parse((await run('secret\n', 'user:create', ...words)).stdout)
  t.match(await create('--email', 'ada@example.com', '--name', 'Ada B'), { email: 'ada@example.com', name: 'Ada B' })
  t.match(await create('--email=bob@example.com', '--name=-b=', '--role', 'admin'), { name: '-b=', role: 'admin' })
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

  failed(t, await run('', 'prune-expired', '--hours=1.5'), /--hours must be an integer/)
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
