// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { runCommandOn } from '../../support/command.ts'
import { temporaryDirectory } from '../../support/process.ts'
import {
  encrypted,
  importFrom,
  insert,
  keyFile,
  laravelFile,
  password,
  secret,
  settings,
  sha256,
  tokenRow,
  userRow,
} from './laravel-app.ts'

/** A secret in which an attacker changed one letter. CBC alone does not detect it. */
const tampered = (() => {
  const envelope = JSON.parse(Buffer.from(encrypted(secret), 'base64').toString())
  const iv = Buffer.from(envelope.iv, 'base64')
  iv[6] = (iv[6] ?? 0) ^ 'J'.charCodeAt(0) ^ 'K'.charCodeAt(0)
  return Buffer.from(JSON.stringify({ ...envelope, iv: iv.toString('base64') })).toString('base64')
})()

t.test('skips what it cannot import, and says why', async (t) => {
  const svc = await buildTestApp(t, { settings })
  await svc.createUser({ email: 'taken@example.com' })
  const laravel = await laravelFile(t)
  const factor = (sealed: string | null) => ({
    two_factor_secret: sealed,
    two_factor_confirmed_at: '2024-03-01 10:00:00',
  })
  const odd: Record<string, ReturnType<typeof userRow>> = {
    'the address is invalid': userRow(101, { email: 'nobody' }),
    'svc has another user with this id': userRow(1),
    'svc has another user with this address': userRow(102, { email: 'Taken@example.com' }),
    'another user of Laravel has this address': userRow(104, { email: 'USER103@example.com' }),
    'the date in created_at is invalid': userRow(105, { created_at: '2024-02-31 00:00:00' }),
    'it was deleted in Laravel (deleted_at)': userRow(106, { deleted_at: '2024-03-01 00:00:00' }),
    'the password hash is not bcrypt or argon2 with usual costs': userRow(107, { password: 'plain' }),
    'the second factor cannot be decrypted with the given APP_KEY': userRow(
      108,
      factor(encrypted(secret, Buffer.alloc(32, 2))),
    ),
    'the secret of the second factor is not base32': userRow(109, factor(encrypted('short'))),
    'the recovery codes cannot be decrypted': userRow(110, {
      ...factor(encrypted(secret)),
      two_factor_recovery_codes: 'e30=',
    }),
    'the second factor has no secret': userRow(111, factor(null)),
    'the id is not an integer': userRow(-3),
  }
  await insert(laravel, 'users', userRow(103))
  for (const row of Object.values(odd)) await insert(laravel, 'users', row)
  await insert(laravel, 'users', userRow(113, factor(tampered)))
  await insert(laravel, 'users', userRow(112, { two_factor_secret: encrypted(secret), name: '' }))
  await insert(laravel, 'personal_access_tokens', tokenRow(1, 103, { token: 'x' }))
  await insert(laravel, 'personal_access_tokens', tokenRow(2, 103, { abilities: '{"a":1}' }))
  await insert(laravel, 'personal_access_tokens', tokenRow(3, 108))
  await insert(laravel, 'passkeys', { id: 1, user_id: 103, name: '', credential_id: 'x', credential: '{"counter":1}' })
  const lines = await importFrom(svc, laravel, keyFile(t), '--apply')
  const reasons = new Map(lines.map(({ table, reason, rows }) => [`${table}: ${reason}`, rows]))
  for (const reason of Object.keys(odd))
    t.equal(reasons.get(`users: ${reason}`), reason.includes('given APP_KEY') ? 2 : 1, reason)
  for (const reason of [
    'personal_access_tokens: the token is not a SHA-256 hash',
    'personal_access_tokens: the abilities are not a JSON list of strings',
    'personal_access_tokens: its user is skipped',
    'passkeys: the credential is not readable, or has no user handle',
  ])
    t.equal(reasons.get(reason), 1, reason)
  const users = await svc.database.prisma.user.findMany({ where: { id: { gt: 100n } }, orderBy: { id: 'asc' } })
  t.match(
    users.map(({ id, name, twoFactorSecret }) => [Number(id), name, twoFactorSecret]),
    [
      [103, 'User 103', null],
      [112, 'user112', null],
    ],
    'a second factor that was never confirmed is left out',
  )
  t.equal((await svc.browser().signIn('user108@example.com', password)).statusCode, 401)
})

t.test('needs the key of a confirmed second factor, and a decision about unconfirmed ones', async (t) => {
  const svc = await buildTestApp(t)
  const laravel = await laravelFile(t)
  await insert(laravel, 'users', userRow(20, { two_factor_secret: encrypted(secret) }))
  await t.rejects(importFrom(svc, laravel), /1 users have a second factor, and none is confirmed.*=active.*=ignore/s)
  const none = await importFrom(svc, laravel, '--unconfirmed-two-factor=active', '--apply')
  t.match(none, [{ result: 'skipped', reason: /needs the APP_KEY/, ids: ['20'] }])
  t.equal(await svc.database.prisma.user.count(), 0)
  await importFrom(svc, laravel, keyFile(t), '--unconfirmed-two-factor=active', '--apply')
  t.same((await svc.browser().signIn('user20@example.com', password)).json(), { two_factor: true })
})

t.test('prints the clients of Passport for the configuration', async (t) => {
  const svc = await buildTestApp(t)
  const laravel = await laravelFile(t)
  const client = (id: string, more: object = {}) => ({
    id,
    name: `Client ${id}`,
    secret: null,
    redirect_uris: '["https://app.example/cb"]',
    grant_types: '["authorization_code","refresh_token"]',
    revoked: 0,
    ...more,
  })
  await insert(laravel, 'oauth_clients', client('a-1', { secret: 'plain secret' }))
  await insert(laravel, 'oauth_clients', client('b-2', { secret: '$2y$10$abc' }))
  await insert(laravel, 'oauth_clients', client('3'))
  await insert(laravel, 'oauth_clients', client('d-4', { revoked: 1 }))
  await insert(laravel, 'oauth_clients', client('e-5', { grant_types: '["personal_access"]' }))
  const yaml = (await runCommandOn(svc, 'import:laravel', laravel.url, '--clients')).join('\n')
  t.equal(
    yaml,
    `# Clients of Laravel Passport. Add the scopes of each client, and check it with svc config:check.
# Skipped:
# Client d-4 (d-4): it is revoked
# Client e-5 (e-5): svc supports none of its grants

clients:
  # The client_id was 3. svc reserves numbers, so change it in the client too.
  - client_id: client-3
    name: Client 3
    type: public
    redirect_uris:
      - https://app.example/cb
    grants:
      - authorization_code
      - refresh_token
  - client_id: a-1
    name: Client a-1
    type: confidential
    secret_hash: sha256:${sha256('plain secret')}
    redirect_uris:
      - https://app.example/cb
    grants:
      - authorization_code
      - refresh_token
  # Passport stored only a slow hash of the secret, which svc cannot check. Create a new one: svc client:secret
  - client_id: b-2
    name: Client b-2
    type: confidential
    redirect_uris:
      - https://app.example/cb
    grants:
      - authorization_code
      - refresh_token`,
  )
})

t.test('explains unusable sources and keys without repeating secrets', async (t) => {
  const svc = await buildTestApp(t)
  const folder = temporaryDirectory(t)
  writeFileSync(join(folder, 'text.sqlite'), 'This file is not a database. '.repeat(100))
  const rejects = (url: string, pattern: RegExp, ...words: string[]) =>
    t.rejects(importFrom(svc, { url, run: async () => undefined }, ...words), { message: pattern })
  await rejects('sqlite.db', /^<from> must be file:/)
  await rejects('oracle://ada:hunter2@db/laravel', /^<from> must be (?!.*hunter2)/)
  await rejects('postgresql://ada:hunt@er2@db/laravel', /^<from> must be (?!.*er2)/)
  await rejects(`file:${join(folder, 'missing.sqlite')}`, /^\/.*(svc\.db|missing\.sqlite) does not exist\.$/)
  await rejects(`file:${join(folder, 'text.sqlite')}`, /^The source database cannot be read: .*not a database/)
  await rejects('postgresql://ada:hunter2@127.0.0.1:1/laravel', /^The source database cannot be read: (?!.*hunter2)/)
  const without = await laravelFile(t, ['CREATE TABLE posts (id integer)'])
  await rejects(without.url, /has no table users/)
  const bare = await laravelFile(t, ['CREATE TABLE users (id integer, email text)'])
  await rejects(bare.url, /^Table users of the source has no column password\.$/)
  const ids = await laravelFile(t, [
    'CREATE TABLE users (id integer, email text, password text)',
    'CREATE TABLE social_accounts (id integer, user_id integer, provider text)',
  ])
  await rejects(ids.url, /^Table social_accounts of the source has no column provider_id or provider_user_id/)
  await rejects(ids.url, /^An application key is invalid(?!.*hunter2)/, keyFile(t, 'base64:hunter2'))
  await rejects(ids.url, /^The file of --app-key-file cannot be read \(ENOENT\)/, `--app-key-file=${folder}/none`)
  await rejects(ids.url, /has no table oauth_clients/, '--clients')
})
