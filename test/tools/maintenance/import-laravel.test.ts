import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashSync } from '@node-rs/argon2'
import t from 'tap'
import { openSource } from '../../../src/tools/maintenance/laravel/source/open.ts'
import { Visitor } from '../../features/passkeys/visitor.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { runCommandOn } from '../../support/command.ts'
import { testEngine } from '../../support/postgresql.ts'
import { runCli, temporaryDirectory } from '../../support/process.ts'
import { codeAt } from '../../support/totp.ts'
import {
  appKey,
  encrypted,
  encryptedByGcm,
  importFrom,
  insert,
  keyFile,
  type LaravelDatabase,
  type Line,
  laravelFile,
  laravelOnPostgresql,
  passkeyRow,
  password,
  secret,
  settings,
  sha256,
  tokenRow,
  userRow,
} from './laravel-app.ts'

/** The rows of svc that an import may change. */
async function contents({ database: { prisma } }: TestApp): Promise<string> {
  const tables = [
    await prisma.user.findMany({ orderBy: { id: 'asc' } }),
    await prisma.personalAccessToken.findMany({ orderBy: { id: 'asc' } }),
    await prisma.passkey.findMany({ orderBy: { id: 'asc' } }),
    await prisma.socialAccount.findMany({ orderBy: { id: 'asc' } }),
    await prisma.event.findMany({ orderBy: { id: 'asc' } }),
  ]
  return JSON.stringify(tables, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

const counts = (lines: readonly Line[]) => lines.map(({ table, result, rows }) => `${table}: ${rows} ${result}`)

/** Fills a Laravel database with a user of each kind. */
async function fill(laravel: LaravelDatabase, authenticator: Authenticator): Promise<void> {
  const factor = {
    two_factor_secret: encrypted(secret),
    two_factor_recovery_codes: encrypted('["aaaaaaaaaa-bbbbbbbbbb","cccccccccc-dddddddddd"]'),
    two_factor_confirmed_at: '2024-03-01 10:00:00',
  }
  await insert(laravel, 'users', userRow(7, { name: "Ada O'Neil\u0007", email: 'Ada@Example.com' }))
  await insert(laravel, 'users', userRow(12, factor))
  await insert(laravel, 'users', userRow(13, { ...factor, two_factor_secret: encryptedByGcm(secret) }))
  await insert(laravel, 'users', userRow(14, { password: hashSync(password, { algorithm: 1 }) }))
  await insert(laravel, 'users', userRow(4_000_000_000, { role: 'chief', email_verified_at: null, password: null }))
  await insert(laravel, 'personal_access_tokens', tokenRow(5, 7, { last_used_at: '2024-03-05 10:00:00' }))
  await insert(laravel, 'personal_access_tokens', tokenRow(90, 7, { expires_at: '2099-01-01 00:00:00' }))
  await insert(laravel, 'personal_access_tokens', tokenRow(91, 7, { expires_at: '2025-01-01 00:00:00' }))
  await insert(laravel, 'personal_access_tokens', tokenRow(92, 7, { tokenable_type: 'App\\Models\\Team' }))
  await insert(laravel, 'personal_access_tokens', tokenRow(93, 99))
  await insert(laravel, 'passkeys', passkeyRow(1, 14, authenticator))
  const links = { google: 'google-7', github: '7007', myspace: '1', azure: 'oid' }
  for (const [at, [provider, id]] of Object.entries(links).entries())
    await insert(laravel, 'social_accounts', { id: at + 1, user_id: 7, provider, provider_id: id })
}

t.test('imports users with working passwords, tokens, second factors and passkeys', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const laravel = testEngine === 'postgresql' ? await laravelOnPostgresql(t) : await laravelFile(t)
  const authenticator = new Authenticator({ counter: 1 })
  await fill(laravel, authenticator)

  const cwd = temporaryDirectory(t)
  writeFileSync(
    join(cwd, 'svc.yaml'),
    JSON.stringify({ ...settings, app: { ...settings.app, environment: 'development' } }),
  )
  const [appSecret = ''] = svc.config.current().app.secret
  const env = { DATABASE_URL: svc.where.url, SVC_SECRET: appSecret, SVC_CONFIG: 'svc.yaml', LARAVEL_APP_KEY: appKey }
  const before = await contents(svc)
  const dry = await runCli(['import:laravel', laravel.url], { cwd, env })
  t.equal(dry.code, 0, dry.stderr)
  t.match(dry.stderr, /^Nothing was written\./)
  t.equal(await contents(svc), before, 'a dry run writes nothing')
  const written = await runCli(['import:laravel', laravel.url, '--apply', '--reason=move'], { cwd, env })
  t.equal(written.code, 0, written.stderr)
  t.equal(dry.stdout.replaceAll('to import', 'imported'), written.stdout, 'the dry run reported the same')
  const report: Line[] = written.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.same(counts(report), [
    'users: 4 imported',
    'users: 1 imported',
    'personal_access_tokens: 2 imported',
    'personal_access_tokens: 1 skipped',
    'personal_access_tokens: 1 skipped',
    'passkeys: 1 imported',
    'social_accounts: 2 imported',
    'social_accounts: 1 skipped',
    'social_accounts: 1 skipped',
    'personal_access_tokens: 1 skipped',
  ])
  t.same(report[1]?.reason, 'administrator by the role chief')
  t.notMatch(dry.stdout + written.stdout, new RegExp(`${secret}|${sha256('secret 5')}|\\$2y|example\\.com`))

  const ada = svc.browser()
  t.equal((await ada.signIn('ada@example.com', password)).statusCode, 200, 'the old password')
  t.match((await ada.get('/api/user')).json(), {
    id: 7,
    name: "Ada O'Neil",
    role: 'user',
    email_verified_at: '2024-03-01T10:00:00.000000Z',
    created_at: '2024-02-29T09:08:07.000000Z',
  })
  const row = await svc.database.prisma.user.findUniqueOrThrow({ where: { id: 7n } })
  t.match(row.password, /^\$argon2id\$/, 'svc hashed the password again')
  t.equal((await svc.browser().signIn('user14@example.com', password)).statusCode, 200, 'an argon2i hash')

  for (const token of ['5|secret 5', '90|secret 90'])
    t.equal((await svc.bearer(token, 'GET', '/api/user')).json().id, 7, 'an old token')
  for (const token of ['91|secret 91', '92|secret 92', '5|secret 90'])
    t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401)
  const tokens = (await svc.bearer('5|secret 5', 'GET', '/api/tokens')).json()
  t.match(tokens.at(-1), { id: 90, abilities: ['orders:read'], expires_at: '2099-01-01T00:00:00.000000Z' })
  t.ok(Number((await svc.createToken({ ...row, id: 7 } as never)).split('|')[0]) > 90, 'a new token has a later id')
  t.ok((await svc.createUser()).id > 4_000_000_000, 'a new user has a later id')

  const proofs = [
    ['user12@example.com', { code: codeAt(secret, svc.clock.now()) }],
    ['user12@example.com', { recovery_code: 'cccccccccc-dddddddddd' }],
    ['user13@example.com', { code: codeAt(secret, svc.clock.now()) }],
  ] as const
  for (const [email, proof] of proofs) {
    const browser = svc.browser()
    t.same((await browser.signIn(email, password)).json(), { two_factor: true })
    t.equal((await browser.post('/two-factor-challenge', { code: '000000' })).statusCode, 422)
    t.equal((await browser.post('/two-factor-challenge', proof)).statusCode, 204, JSON.stringify(proof))
  }

  const guest = new Visitor(svc.browser())
  t.equal((await guest.login(authenticator)).statusCode, 200, 'the passkey')
  t.equal(await guest.userId(), 14)
  const links = await svc.database.prisma.socialAccount.findMany({ orderBy: { id: 'asc' } })
  t.match(links, [
    { userId: 7n, provider: 'google', issuer: 'https://accounts.google.com', providerId: 'google-7' },
    { userId: 7n, provider: 'github', issuer: '', providerId: '7007' },
  ])
  const [created] = await svc.database.prisma.event.findMany({ where: { userId: 7n, type: 'user_created' } })
  t.match(created, { data: '{"imported":"laravel"}', reason: 'move', actor: /^operator:/ })
})

t.test('repeats an import without changes, and never restores what was removed in svc', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const laravel = await laravelFile(t)
  await fill(laravel, new Authenticator())
  const key = keyFile(t)
  await importFrom(svc, laravel, key, '--apply')
  const before = await contents(svc)
  const again = await importFrom(svc, laravel, key, '--apply')
  t.equal(await contents(svc), before)
  t.same(counts(again.filter(({ result }) => result !== 'skipped')), [
    'users: 5 already there',
    'personal_access_tokens: 2 already there',
    'passkeys: 1 already there',
    'social_accounts: 2 already there',
  ])

  const { prisma } = svc.database
  await svc.bearer('5|secret 5', 'DELETE', '/api/tokens/90')
  await prisma.passkey.deleteMany()
  await runCommandOn(svc, 'user:delete', '--email=user12@example.com', '--yes')
  await insert(laravel, 'personal_access_tokens', tokenRow(95, 7, { created_at: '2026-11-20 12:30:00' }))
  svc.clock.advance(3_600_000)
  const third = await importFrom(svc, laravel, key, '--apply')
  const reasons = third.filter(({ result }) => result === 'skipped').map(({ table, reason }) => `${table}: ${reason}`)
  t.ok(reasons.includes('users: a user with this id was deleted in svc'))
  t.ok(reasons.includes('personal_access_tokens: it was removed in svc since the import'))
  t.ok(reasons.includes('passkeys: it was removed in svc since the import'))
  t.equal((await svc.bearer('90|secret 90', 'GET', '/api/user')).statusCode, 401)
  t.equal((await svc.bearer('95|secret 95', 'GET', '/api/user')).statusCode, 200, 'a token since the import')
  await svc.bearer('5|secret 5', 'DELETE', '/api/tokens/95')
  await importFrom(svc, laravel, key, '--apply')
  t.equal(
    (await svc.bearer('95|secret 95', 'GET', '/api/user')).statusCode,
    401,
    'a token revoked after a later import',
  )
})

t.test('imports one consistent state of a source that changes meanwhile', async (t) => {
  const laravel = testEngine === 'postgresql' ? await laravelOnPostgresql(t) : await laravelFile(t)
  const source = await openSource(laravel.url, null)
  await insert(laravel, 'users', userRow(1))
  t.equal(await source.count('users'), 0)
  await source.close()
})

t.test('imports many users in batches', async (t) => {
  const svc = await buildTestApp(t)
  const laravel = await laravelFile(t)
  await laravel.run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450)
    INSERT INTO users (id, name, email) SELECT i, 'User', 'user' || i || '@example.com' FROM n`)
  await laravel.run(`INSERT INTO personal_access_tokens (id, tokenable_type, tokenable_id, name, token, abilities)
    SELECT id, 'App\\Models\\User', id, 'CI', printf('%064d', id), '[]' FROM users`)
  const lines = await importFrom(svc, laravel, '--apply')
  t.same(counts(lines), ['users: 450 imported', 'personal_access_tokens: 450 imported'])
  t.equal(await svc.database.prisma.personalAccessToken.count(), 450)
})
