import { pbkdf2Sync, scryptSync } from 'node:crypto'
import { hashSync as argon2 } from '@node-rs/argon2'
import { hashSync as bcrypt } from '@node-rs/bcrypt'
import t from 'tap'
import { adminCall, openAdmin } from '../../../support/admin.ts'

const salt = Buffer.from('sixteen byte sal')
const plain = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
const scrypt = `$scrypt$ln=14,r=8,p=1$${plain(salt)}$${plain(scryptSync('a horse', salt, 32, { N: 2 ** 14, r: 8, p: 1 }))}`
const derived = pbkdf2Sync('a horse', salt, 10_000, 32, 'sha256')
const long = pbkdf2Sync('a horse', salt, 10_000, 64, 'sha512')

/** Hashes of one password, as other servers store them. */
const hashes: Record<string, string> = {
  argon2id: argon2('a horse', { algorithm: 2, memoryCost: 8_192, timeCost: 1, parallelism: 1 }),
  bcrypt: bcrypt('a horse', 4).replace('$2b$', '$2y$'),
  scrypt,
  pbkdf2: `$pbkdf2-sha256$i=10000,l=32$${plain(salt)}$${plain(derived)}`,
  passlib: `$pbkdf2-sha512$10000$${plain(salt).replaceAll('+', '.')}$${plain(long).replaceAll('+', '.')}`,
  django: `pbkdf2_sha256$10000$${salt.toString()}$${derived.toString('base64')}`,
}

t.test('imports users with their hashes, and hashes the passwords again', async (t) => {
  const { svc, call, events } = await openAdmin(t)
  const send = (payload: string, headers = {}) =>
    call('POST', '/users/import', payload as unknown as object, { 'content-type': 'application/x-ndjson', ...headers })
  const dryRun = (payload: string, value = 'true') =>
    call('POST', `/users/import?dry_run=${value}`, payload as unknown as object, {
      'content-type': 'application/x-ndjson',
    })
  const lines = (...users: object[]) => users.map((user) => JSON.stringify(user)).join('\n')

  await t.test('accepts each kind of hash', async (t) => {
    for (const [kind, password_hash] of Object.entries(hashes)) {
      const answer = await send(lines({ email: `${kind}@example.com`, name: kind, verified: true, password_hash }))
      t.match([answer.statusCode, answer.json()], [200, { created: 1, invalid: 0 }], kind)
    }
    for (const kind of Object.keys(hashes)) {
      t.equal((await svc.browser().signIn(`${kind}@example.com`, 'wrong')).statusCode, 401, kind)
      t.equal((await svc.browser().signIn(`${kind}@example.com`, 'a horse')).statusCode, 200, kind)
      const { password } = await svc.database.prisma.user.findUniqueOrThrow({ where: { email: `${kind}@example.com` } })
      t.match(password, /^\$argon2id\$v=19\$m=19456/, `${kind} is hashed again`)
      t.equal((await svc.browser().signIn(`${kind}@example.com`, 'a horse')).statusCode, 200, kind)
    }
    t.match((await events('user_created'))[0], { actor: 'client:robot', data: '{"imported":true}' })
  })

  await t.test('reports each line', async (t) => {
    const text = [
      '{"email":"one@example.com","name":"One","role":"editor","disabled":true,"id":1,"two_factor_enabled":true}',
      '',
      '{"email":"ONE@example.com","name":"Again"}',
      '{"email":"argon2id@example.com","name":"Exists"}',
      'not json',
      '[]',
      '{"name":"x"}',
      '{"email":"x@example.com","name":"x","verified":"yes"}',
      '{"email":"x@example.com","name":"\\ud800"}',
      '{"email":"x@example.com","name":"a\\u0000b"}',
      '{"email":"x@example.com","name":"x","password_hash":"md5"}',
      `{"email":"x@example.com","name":"x","password_hash":"$2y$20$${'a'.repeat(53)}"}`,
      '{"email":"x@example.com","name":"x","password_hash":"$scrypt$ln=30,r=8,p=1$c2FsdHNhbHQ$Zm9yIGVxdWFsIHRpbWUsIG5vdCBmb3IgYW55IHVzZXI"}',
      '{"email":"x@example.com","name":"x","password_hash":"$pbkdf2-sha256$i=9000000,l=32$c2FsdA$Zm9yIGVxdWFsIHRpbWUsIG5vdCBmb3IgYW55IHVzZXI"}',
      '{"email":"x@example.com","name":"x","password_hash":"$argon2id$v=19$m=262144,t=9,p=4$c2FsdHNhbHQ$Zm9yIGVxdWFsIHRpbWUsIG5vdCBmb3IgYW55IHVzZXI"}',
      '{"email":"x@example.com","name":"x","password_hash":"!"}',
      '{"email":"two@example.com","name":"Two"}\r',
    ].join('\n')
    const users = await svc.database.prisma.user.count()
    const [planned, read] = [(await dryRun(text)).json(), await events('admin_read')]
    t.equal(await svc.database.prisma.user.count(), users, 'a dry run writes nothing')
    t.match(read.at(-1), { actor: 'client:robot', target: 'users', data: '{"operation":"adminImportUsers"}' })
    t.equal((await dryRun(text, 'yes')).statusCode, 422)
    const { created, exists, invalid, dry_run, lines: reports } = (await send(text)).json()
    t.equal(dry_run, false)
    const withoutId = (report: object) => ({ ...report, id: null })
    t.same(planned, { dry_run: true, created, exists, invalid, lines: reports.map(withoutId) }, 'reports the same')
    t.same({ created, exists, invalid }, { created: 2, exists: 2, invalid: 12 })
    t.match(reports.slice(0, 3), [
      { line: 1, status: 'created', id: Number },
      { line: 3, status: 'exists', id: null },
      { line: 4, status: 'exists' },
    ])
    t.same(
      reports.slice(3, -1).map(({ errors }: { errors: object }) => Object.keys(errors)[0]),
      ['line', 'line', 'email', 'verified', 'line', 'name', ...Array(6).fill('password_hash')],
    )
    const one = (await call('GET', `/users/${reports[0].id}`)).json()
    t.match(one, { email: 'one@example.com', role: 'editor', disabled: true, two_factor_enabled: false })
    t.not(one.id, 1)
    const reads = (await events('admin_read')).length
    t.match((await send(text)).json(), { created: 0, exists: 4 })
    t.equal((await events('admin_read')).length, reads + 1, 'the report says which addresses have accounts')
    await send('{"email":"three@example.com","name":"Three"}')
    t.equal((await events('admin_read')).length, reads + 1, 'the report says only what was created')
    t.match((await dryRun(text)).json(), { created: 0, exists: 4 })
    const many = Array.from({ length: 6 }, (_, i) => ({
      email: `k${i}@example.com`,
      name: 'k',
      password_hash: hashes.pbkdf2?.replace('10000', `${10_001 + i}`),
    }))
    t.match((await send(lines(...many))).json(), { created: 5, invalid: 1 })
  })

  await t.test('rejects other bodies, and too many lines', async (t) => {
    const body = lines({ email: 'z@example.com', name: 'z' })
    t.equal((await send(body, { 'content-type': 'application/json' })).statusCode, 415)
    t.equal((await send('a=b', { 'content-type': 'application/x-www-form-urlencoded' })).statusCode, 415)
    t.equal((await send(body, { 'content-type': 'text/plain' })).statusCode, 415)
    t.equal((await send('x\n'.repeat(10_001))).statusCode, 413)
    t.equal((await send('x'.repeat(10 * 1024 * 1024 + 1))).statusCode, 413)
    const elsewhere = await call('POST', '/users', body as unknown as object, {
      'content-type': 'application/x-ndjson',
    })
    t.equal(elsewhere.statusCode, 415)
    const user = await svc.createUser()
    t.equal((await adminCall(svc, await svc.createToken(user))('POST', '/users/import', {})).statusCode, 403)
    t.match((await send('')).json(), { created: 0, lines: [] })
  })

  await t.test('imports 10,000 lines once, also concurrently', async (t) => {
    const people = Array.from({ length: 10_000 }, (_, i) => ({
      email: `many${i}@example.com`,
      name: 'Many',
      // Of a kind that users already have.
      password_hash: hashes.pbkdf2?.replace('i=10000', 'i=10001'),
    }))
    const [first, second] = await Promise.all([send(lines(...people)), send(lines(...people.slice(0, 400)))])
    t.equal(first.json().created + second.json().created, 10_000)
    t.equal(await svc.database.prisma.user.count({ where: { name: 'Many' } }), 10_000)
  })
})
