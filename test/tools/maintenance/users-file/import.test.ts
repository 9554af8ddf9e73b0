// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hashPassword } from '../../../../src/platform/crypto/password.ts'
import { buildTestApp } from '../../../support/app.ts'
import { runCommandOn } from '../../../support/command.ts'
import { temporaryDirectory } from '../../../support/process.ts'

/** Exported from Keycloak 26.4.0 with `kc.sh export`. */
const realm = join(import.meta.dirname, 'keycloak-acme.json')

t.test('imports a realm of Keycloak: passwords, groups and names', async (t) => {
  const svc = await buildTestApp(t)
  const run = async (...words: string[]) =>
    (await runCommandOn(svc, 'import:keycloak', realm, ...words)).map((line) => JSON.parse(line))
  const expected = [
    { table: 'users', result: 'skipped', rows: 1, reason: 'svc needs an email address', ids: ['noemail'] },
    { table: 'groups', result: 'to import', rows: 1 },
    { table: 'users', result: 'to import', rows: 2 },
    { table: 'not moved', result: 'skipped', rows: 1, reason: /^realm roles/, ids: ['ada'] },
  ]
  t.match(await run(), expected)
  t.equal(await svc.database.prisma.user.count(), 0, 'nothing is written without --apply')
  t.match(await run('--apply', '--reason=move'), [{}, { result: 'imported' }, { result: 'imported', rows: 2 }, {}])

  const users = await svc.database.prisma.user.findMany({ orderBy: { id: 'asc' } })
  t.match(users, [
    {
      email: 'ada@example.com',
      name: 'Ada Lovelace',
      username: 'ada',
      groups: '["staff"]',
      disabledAt: null,
      emailVerifiedAt: Date,
    },
    { email: 'bob@example.com', name: 'Bob', username: 'bob', groups: '[]', disabledAt: Date, emailVerifiedAt: null },
  ])
  const signIn = (email: string, password: string) =>
    svc.bearer(null, 'POST', '/svc/token', { email, password, device_name: 'phone' })
  t.equal((await signIn('ada@example.com', 'correct horse battery')).statusCode, 200, 'the PBKDF2 hash')
  t.equal((await signIn('ada@example.com', 'correct horse batterx')).statusCode, 422)
  await runCommandOn(svc, 'user:update', '--email=bob@example.com', '--enable')
  t.equal((await signIn('bob@example.com', 'another good password')).statusCode, 200, 'the argon2 hash')
  const [ada] = await svc.database.prisma.user.findMany({ where: { email: 'ada@example.com' } })
  t.match(ada?.password, /^\$argon2id\$v=19\$m=19456/, 'svc hashes the password again')
  t.match(await run('--apply'), [
    { reason: 'svc needs an email address' },
    { table: 'users', result: 'already there', rows: 2 },
  ])
})

t.test('imports the users file of Authelia', async (t) => {
  const svc = await buildTestApp(t)
  const other = await svc.createUser({ email: 'other@example.com' })
  await runCommandOn(svc, 'user:update', `--id=${other.id}`, '--username=harry')
  const file = join(temporaryDirectory(t), 'users_database.yml')
  writeFileSync(
    file,
    `users:
  john:
    disabled: false
    displayname: 'John Doe'
    password: '{CRYPT}${hashPassword('the old password')}'
    email: John.Doe@example.com
    groups: [admins, dev, 'two words']
  harry:
    displayname: 'Гарри'
    password: '$6$rounds=50000$abc$unknown'
    email: harry@example.com
    disabled: true
  nobody: { displayname: No Mail }
  broken: text
`,
  )
  const lines = (await runCommandOn(svc, 'import:authelia', file, '--apply')).map((line) => JSON.parse(line))
  t.match(lines, [
    { table: 'users', result: 'skipped', rows: 2, reason: 'svc needs an email address', ids: ['nobody', 'broken'] },
    { table: 'groups', result: 'imported', rows: 2 },
    { table: 'users', result: 'imported', rows: 2 },
    { reason: /^groups whose name/, ids: ['john'] },
    { reason: /^a password hash that svc cannot check/, ids: ['harry'] },
    { reason: /^a username that another user has/, ids: ['harry'] },
  ])
  const [john, harry] = await svc.database.prisma.user.findMany({
    where: { id: { not: BigInt(other.id) } },
    orderBy: { id: 'asc' },
  })
  t.match(john, { email: 'john.doe@example.com', name: 'John Doe', username: 'john', groups: '["admins","dev"]' })
  t.match(harry, { name: 'Гарри', password: null, disabledAt: Date })
  t.not(harry?.username, 'harry')
  const answer = await svc.bearer(null, 'POST', '/svc/token', {
    ...{ email: 'john.doe@example.com', password: 'the old password', device_name: 'phone' },
  })
  t.equal(answer.statusCode, 200)
})

t.test('says what is wrong with a file', async (t) => {
  const svc = await buildTestApp(t)
  const file = join(temporaryDirectory(t), 'file')
  const cases: [command: string, content: string, message: RegExp][] = [
    ['import:keycloak', 'users: []', /The file is not JSON/],
    ['import:keycloak', '{}', /The file has no users\. Export the realm with/],
    ['import:keycloak', '[]', /The file has no users/],
    ['import:authelia', 'a: [', /The file is not YAML/],
    ['import:authelia', 'users: []', /The file has no users\. Expected the users_database\.yml/],
  ]
  for (const [command, content, message] of cases) {
    writeFileSync(file, content)
    await t.rejects(runCommandOn(svc, command, file), { message })
  }
  await t.rejects(runCommandOn(svc, 'import:authelia', '/nowhere'), { message: '/nowhere cannot be read (ENOENT).' })
  writeFileSync(
    file,
    '{"users":[null,5,{"email":"a@example.com","credentials":[{"type":"password","secretData":"x"}]}]}',
  )
  const [line = ''] = await runCommandOn(svc, 'import:keycloak', file)
  t.match(JSON.parse(line), { table: 'users', result: 'to import', rows: 1 })
})
