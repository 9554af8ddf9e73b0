// engine: none
import t from 'tap'
import { openDatabase } from '../../src/platform/database/database.ts'
import { startMain } from '../support/process.ts'
import { remoteBrowser } from '../support/remote.ts'
import { failed, invalid, openShell } from '../support/shell.ts'

// Each command is a process.
t.test('creates, lists and changes a user, who can sign in', async (t) => {
  const { run, cwd, env } = await openShell(t)
  const first = await run(
    '  a pass word  \nsecond line\n',
    'svc:user:create',
    '--email=Ada@Example.COM',
    '--name= Ada B ',
  )
  t.equal(first.code, 0, first.stderr)
  t.equal(first.stderr, '')
  t.match(first.stdout, /^\{.*\}\n$/, 'one line of JSON')
  const ada = JSON.parse(first.stdout)
  t.match(ada, { id: Number, name: 'Ada B', email: 'ada@example.com', email_verified_at: null, role: 'user' })
  t.match(ada, { two_factor_enabled: false, disabled: false, created_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/ })
  t.notOk('password' in ada)

  const second = await run('x', 'user:create', '--email=bob@example.com', '--name=Bob', '--role=admin', '--verified')
  t.equal(second.code, 0, 'a password of one letter, without a newline or prefix')
  const warning = 'Registration would refuse this password: The password field must be at least 8 characters.\n'
  t.equal(second.stderr, warning)
  t.match(JSON.parse(second.stdout), { role: 'admin', email_verified_at: /Z$/ })

  const list = await run('', 'user:list')
  t.equal(list.code, 0)
  const emails = list.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).email)
  t.same(emails, ['ada@example.com', 'bob@example.com'])

  const svc = await startMain(t, { cwd, env })
  const signIn = async (email: string, password: string) =>
    (await remoteBrowser(svc.url, { url: 'http://localhost:8000' }).signIn(email, password)).statusCode
  t.equal(await signIn('ada@example.com', '  a pass word  '), 200, 'with its spaces')
  t.equal(await signIn('ada@example.com', 'a pass word'), 401)
  t.equal(await signIn('bob@example.com', 'x'), 200)

  const update = async (...options: string[]) => {
    const ended = await run('', 'user:update', '--email=ADA@example.com', ...options)
    t.equal(ended.code, 0, ended.stderr)
    return JSON.parse(ended.stdout)
  }
  t.match(await update('--role=editor'), { role: 'editor', email_verified_at: null })
  const { email_verified_at: verifiedAt } = await update('--verify')
  t.match(verifiedAt, /Z$/)
  t.match(await update('--verify', '--role=user'), { role: 'user', email_verified_at: verifiedAt }, 'verified once')
  t.match(await update('--disable'), { disabled: true })
  t.equal(await signIn('ada@example.com', '  a pass word  '), 401)
  t.match(await update('--enable'), { disabled: false })
  t.equal(await signIn('ada@example.com', '  a pass word  '), 200)
})

t.test('removes a lost second factor', async (t) => {
  const { run, database } = await openShell(t)
  await run('secret\n', 'user:create', '--email=ada@example.com', '--name=Ada')
  const db = await openDatabase(database)
  t.teardown(db.close)
  const data = { twoFactorSecret: 'x', twoFactorRecoveryCodes: '[]', twoFactorConfirmedAt: new Date() }
  await db.prisma.user.update({ where: { email: 'ada@example.com' }, data })
  t.match(JSON.parse((await run('', 'user:list')).stdout), { two_factor_enabled: true })
  const reset = await run('', 'user:update', '--email=ada@example.com', '--reset-two-factor')
  t.match(JSON.parse(reset.stdout), { two_factor_enabled: false })
  const row = await db.prisma.user.findUniqueOrThrow({ where: { email: 'ada@example.com' } })
  t.match(row, { twoFactorSecret: null, twoFactorRecoveryCodes: null, twoFactorConfirmedAt: null })
  const events = await db.prisma.event.findMany({ orderBy: { id: 'asc' } })
  t.same(
    events.map((event) => event.type),
    ['user_created', 'user_updated', 'two_factor_disabled'],
    'the audit trail has all of it',
  )
})

t.test('reports errors in a user as over HTTP, and changes nothing', async (t) => {
  const { run } = await openShell(t)
  const create = (input: string, ...options: string[]) => run(input, 'user:create', ...options)
  t.equal((await create('x\n', '--email=ada@example.com', '--name=Ada')).code, 0)
  const taken = { email: ['The email has already been taken.'] }
  invalid(t, await create('x\n', '--email=ADA@example.com', '--name=Ada'), taken)
  const unreadable = { email: ['The email field must be a valid email address.'] }
  for (const email of ['ada', 'a b@c.d', '@b']) {
    invalid(t, await create('x\n', `--email=${email}`, '--name=Ada'), unreadable)
  }
  invalid(t, await create('x\n'), {
    name: ['The name field is required.'],
    email: ['The email field is required.'],
  })
  invalid(t, await create('x\n', '--email=b@example.com', `--name=${'x'.repeat(256)}`), {
    name: ['The name field must not be greater than 255 characters.'],
  })
  const empty = { password: ['The password field is required.'] }
  for (const input of ['', '\n', '\r\n', '\nsecond line\n']) {
    invalid(t, await create(input, '--email=b@example.com', '--name=B'), empty)
  }
  const update = (...options: string[]) => run('', 'user:update', ...options)
  const unknown = { email: ["We can't find a user with that email address."] }
  invalid(t, await update('--email=b@example.com', '--verify'), unknown)
  invalid(t, await update('--verify'), { email: ['The email field is required.'] })
  invalid(t, await update('--email=ada@example.com', '--role='), { role: ['The role field is required.'] })
  failed(t, await update('--email=ada@example.com', '--enable', '--disable'), /cannot be combined/)
  failed(t, await update('--email=ada@example.com'), /^Nothing to change/)
  const { stdout } = await run('', 'user:list', '--json')
  t.equal(stdout.trim().split('\n').length, 1)
  t.match(JSON.parse(stdout), { role: 'user', email_verified_at: null, disabled: false })
})
