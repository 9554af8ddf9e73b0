// engine: none
import { pbkdf2Sync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { legacyHashes } from '../../../../src/identity/users.ts'
import { importedHash } from '../../../../src/platform/crypto/imported-hash.ts'
import { verifyPassword } from '../../../../src/platform/crypto/password.ts'
import { openSqliteConnection } from '../../../../src/platform/database/sqlite.ts'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { runCommandOn } from '../../../support/command.ts'
import { temporaryDirectory } from '../../../support/process.ts'

const run = async (svc: TestApp, command: string, ...words: string[]) =>
  (await runCommandOn(svc, command, ...words)).map((line) => JSON.parse(line))

function fileOf(t: Test, content: string): string {
  const file = join(temporaryDirectory(t), 'file')
  writeFileSync(file, content)
  return file
}

const signIn = async (svc: TestApp, email: string, password: string) =>
  (await svc.bearer(null, 'POST', '/svc/token', { email, password, device_name: 'phone' })).statusCode

/** The example of github.com/firebase/scrypt. */
const hashConfig = `hash_config {
  algorithm: SCRYPT,
  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
  base64_salt_separator: Bw==,
  rounds: 8,
  mem_cost: 14,
}`
const firebaseHash = 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=='

t.test('imports the users of Firebase with its scrypt', async (t) => {
  const svc = await buildTestApp(t)
  const users = [
    {
      ...{ localId: 'a1', email: 'ada@example.com', emailVerified: true, displayName: 'Ada', salt: '42xEC-ixf3L2lw==' },
      // Exports have the alphabet of URLs.
      passwordHash: firebaseHash.replaceAll('+', '-').replaceAll('/', '_'),
      providerUserInfo: [{ providerId: 'password' }, { providerId: 'google.com', rawId: '117' }],
      customAttributes: '{"admin":true}',
    },
    { localId: 'b2', email: 'bob@example.com', disabled: true, providerUserInfo: [] },
    { localId: 'c3', phoneNumber: '+491701234567' },
    null,
  ]
  const file = fileOf(t, JSON.stringify({ users }))
  const config = fileOf(t, hashConfig)
  t.match(await run(svc, 'import:firebase', file, `--hash-config=${config}`, '--apply'), [
    { table: 'users', result: 'skipped', rows: 1, reason: 'svc needs an email address', ids: ['c3'] },
    { table: 'users', result: 'imported', rows: 2 },
    { reason: 'custom claims', ids: ['a1'] },
    { reason: /^a link to google.com, .* no provider social.google$/, ids: ['a1'] },
  ])
  t.match(await legacyHashes(svc.database), [/^\$fbscrypt/], 'unknown users take as long')
  t.equal(await signIn(svc, 'ada@example.com', 'user1passwore'), 422)
  t.equal(await signIn(svc, 'ada@example.com', 'user1password'), 200)
  const [ada, bob] = await svc.database.prisma.user.findMany({ orderBy: { id: 'asc' } })
  t.match(ada?.password, /^\$argon2id/, 'svc hashes the password again, without the key of the project')
  t.match(bob, { name: 'bob@example.com', password: null, disabledAt: Date, emailVerifiedAt: null })

  const without = await buildTestApp(t)
  const lines = await run(without, 'import:firebase', file)
  t.match(
    lines.find(({ reason }) => reason?.startsWith('a password hash')),
    { ids: ['a1'] },
    'without the parameters',
  )
})

t.test('reads parameters and hashes of Firebase strictly', async (t) => {
  const sk = 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA'
  const of = (n: number, end = `$42xEC+ixf3L2lw$${firebaseHash.replace(/=+$/, '')}`) =>
    `$fbscrypt$v=1,n=${n},r=8,p=1,ss=Bw,sk=${sk}${end}`
  t.ok(importedHash(of(14)))
  t.equal(importedHash(of(30)), null, 'a hash that takes gigabytes')
  t.equal(importedHash(of(14, '$short$x')), null)
  t.equal(await verifyPassword(of(14), 'user1password'), true)
  t.equal(await verifyPassword(of(13), 'user1password'), false)
  const svc = await buildTestApp(t)
  const users = fileOf(t, '{"users":[]}')
  for (const [config, message] of [
    ['hash_config {}', /The file has no algorithm/],
    [hashConfig.replace('SCRYPT', 'HMAC_SHA256'), /must be SCRYPT/],
    [hashConfig.replace('mem_cost', 'mem'), /The file has no mem_cost/],
  ] as const) {
    await t.rejects(runCommandOn(svc, 'import:firebase', users, `--hash-config=${fileOf(t, config)}`), { message })
  }
  await t.rejects(runCommandOn(svc, 'import:firebase', fileOf(t, '{}')), { message: /firebase auth:export/ })
})

t.test('imports the users of Auth0, with hashes from a second file', async (t) => {
  const svc = await buildTestApp(t)
  const lines = [
    {
      ...{ user_id: 'auth0|5f7c8ec7c33c6c004bbafe82', email: 'ada@example.com', email_verified: true },
      ...{ given_name: 'Ada', family_name: 'Lovelace', name: 'Ada Lovelace', nickname: 'ada', blocked: false },
      identities: [{ connection: 'Username-Password-Authentication', provider: 'auth0', isSocial: false }],
    },
    {
      ...{ user_id: 'google-oauth2|1175', email: 'bob@example.com', email_verified: true, name: 'Bob' },
      identities: [{ connection: 'google-oauth2', provider: 'google-oauth2', user_id: '1175', isSocial: true }],
      ...{ app_metadata: { plan: 'gold' }, multifactor: ['guardian'] },
    },
    { user_id: 'auth0|77', email: 'cy@example.com', blocked: true },
    { user_id: 'sms|5', name: 'No Mail', username: null },
    {
      // Older than the export.
      ...{ _id: { $oid: '5f7c8ec7c33c6c004bbafe82' }, email: 'former@example.com', email_verified: false },
      passwordHash: '$2b$10$3euPcmQFCiblsZeEu5s7p.9OVHgeHWFDk9nhMqZ0m/3pd/lhwZgES',
    },
  ]
  const file = fileOf(t, `\u{FEFF}${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  t.match(await run(svc, 'import:auth0', file, '--apply'), [
    { table: 'users', result: 'skipped', rows: 1, reason: 'svc needs an email address', ids: ['sms|5'] },
    { table: 'users', result: 'imported', rows: 3 },
    { reason: /^second factors/, ids: ['google-oauth2|1175'] },
    { reason: 'app_metadata', ids: ['google-oauth2|1175'] },
    { reason: /^a link to google-oauth2/, ids: ['google-oauth2|1175'] },
    { reason: /^the password: Auth0 exports hashes only on request/, ids: ['auth0|77'] },
  ])
  const users = await svc.database.prisma.user.findMany({ orderBy: { id: 'asc' } })
  t.match(users, [
    { email: 'ada@example.com', name: 'Ada Lovelace', password: /^\$2b\$10\$/, emailVerifiedAt: Date },
    { password: null },
    { disabledAt: Date },
  ])
  t.match(await run(svc, 'import:auth0', file, '--apply'), [{}, { result: 'already there', rows: 3 }])
  t.match((await run(svc, 'import:auth0', fileOf(t, JSON.stringify(lines)))).length, 2, 'an array too')
  const twice = [
    { user_id: 'auth0|8', email: 'Twice@example.com', email_verified: false },
    { user_id: 'github|9', email: 'twice@example.com', email_verified: true, name: 'Verified' },
  ]
  t.match(await run(svc, 'import:auth0', fileOf(t, JSON.stringify(twice)), '--apply'), [
    { result: 'skipped', reason: 'another user of the file has this address', ids: ['auth0|8'] },
    { result: 'imported', rows: 1 },
    { reason: /^a link to github/, ids: ['github|9'] },
  ])
  for (const [content, message] of [
    ['', /Expected a user export of Auth0/],
    ['5', /Expected a user export of Auth0/],
    ['{"user_id":', /The file is not JSON/],
    ['{"users":[]}', /Record 1 is not a user of Auth0/],
  ] as const) {
    await t.rejects(runCommandOn(svc, 'import:auth0', fileOf(t, content)), { message })
  }
})

/** Tables and rows that better-auth 1.7.25 made, with its plugins for usernames and administrators. */
const betterAuth = `
CREATE TABLE "user" ("id" text not null primary key, "name" text not null, "email" text not null unique, "emailVerified" integer not null, "image" text, "createdAt" date not null, "updatedAt" date not null, "username" text unique, "displayUsername" text, "role" text, "banned" integer, "banReason" text, "banExpires" date);
CREATE TABLE "account" ("id" text not null primary key, "accountId" text not null, "providerId" text not null, "userId" text not null, "accessToken" text, "refreshToken" text, "idToken" text, "accessTokenExpiresAt" date, "refreshTokenExpiresAt" date, "scope" text, "password" text, "createdAt" date not null, "updatedAt" date not null);
INSERT INTO "user" VALUES ('i5i7FXTZDt0UQl3fliixafRbpFRSyRp2', 'Ada Lovelace', 'ada@example.com', 1, NULL, '2026-11-28', '2026-11-28', 'ada', 'ada', 'user', 0, NULL, NULL);
INSERT INTO "user" VALUES ('OwU5cfaGbjDNgSunAyGJmgC10fLRqMIC', 'Zoë Ω', 'zoe@example.com', 0, NULL, '2026-11-28', '2026-11-28', 'zoe', 'zoe', 'admin', 1, NULL, NULL);
INSERT INTO "user" VALUES ('Pause', 'Pau', 'pau@example.com', 0, NULL, '2026-11-28', '2026-11-28', NULL, NULL, NULL, 1, NULL, '2027-01-01');
INSERT INTO "account" VALUES ('Dtac', 'i5i7', 'credential', 'i5i7FXTZDt0UQl3fliixafRbpFRSyRp2', NULL, NULL, NULL, NULL, NULL, NULL, 'e5ee20b4a17b0c3a91d22809ba692d79:e0453be123532c1bd7a7638f9142b46bb4e20d538a4d12b434b129fd4e9b620c35678c022233a754660e9cf804b0e03530ca676393634a2180ed3b1ab7d41c21', '2026-11-28', '2026-11-28');
INSERT INTO "account" VALUES ('Dtad', '117', 'google', 'i5i7FXTZDt0UQl3fliixafRbpFRSyRp2', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-28', '2026-11-28');
INSERT INTO "account" VALUES ('67bo', 'OwU5', 'credential', 'OwU5cfaGbjDNgSunAyGJmgC10fLRqMIC', NULL, NULL, NULL, NULL, NULL, NULL, '8a38c39b6788cbe97fb033662dbcbbc6:ccbfd61500614b102ea25babdff2e013d831c456d6bbd670c412f865f8deb4097d52ffc4652dd8c51dc061cfc7c8c7e1a10227d76bce8146f816d230c73d1473', '2026-11-28', '2026-11-28');
`

t.test('imports the users of better-auth from its tables', async (t) => {
  const svc = await buildTestApp(t, { settings: { social: { google: { client_id: 'svc', client_secret: 's' } } } })
  const file = join(temporaryDirectory(t), 'better-auth.db')
  const source = openSqliteConnection(file)
  source.exec(betterAuth)
  source.close()
  t.match(await run(svc, 'import:better-auth', `file:${file}`, '--apply'), [
    { table: 'users', result: 'imported', rows: 3 },
    { reason: /^roles/, ids: ['OwU5cfaGbjDNgSunAyGJmgC10fLRqMIC'] },
    { reason: 'a ban with an end; the account is enabled', ids: ['Pause'] },
  ])
  const [link] = await svc.database.prisma.socialAccount.findMany()
  t.match(link, { provider: 'google', providerId: '117' })
  await runCommandOn(svc, 'user:update', '--email=zoe@example.com', '--enable')
  t.equal(await signIn(svc, 'ada@example.com', 'correct horse battery'), 200)
  t.equal(await signIn(svc, 'zoe@example.com', 'pässwört ﬁve'), 200, 'better-auth hashes the form NFKC')
  t.equal(await signIn(svc, 'zoe@example.com', 'pässwört six'), 422)
  const users = await svc.database.prisma.user.findMany({ orderBy: { email: 'asc' } })
  t.match(users, [
    { username: 'ada', emailVerifiedAt: Date },
    { email: 'pau@example.com', disabledAt: null },
    { username: 'zoe', name: 'Zoë Ω', emailVerifiedAt: null },
  ])
  const empty = join(temporaryDirectory(t), 'other.db')
  openSqliteConnection(empty).close()
  await t.rejects(runCommandOn(svc, 'import:better-auth', `file:${empty}`), {
    message: /no tables "user" and "account"/,
  })
  await t.rejects(runCommandOn(svc, 'import:better-auth', 'http://example.com'), { message: /must be file:/ })
  await t.rejects(runCommandOn(svc, 'import:better-auth', 'file:/nowhere.db'), { message: /does not exist/ })
})

t.test('takes the first block of older PBKDF2 hashes of Keycloak', async (t) => {
  const salt = Buffer.from('0123456789abcdef')
  const value = pbkdf2Sync('the old password', salt, 27_500, 64, 'sha256').toString('base64')
  const password = {
    type: 'password',
    secretData: JSON.stringify({ value, salt: salt.toString('base64') }),
    credentialData: JSON.stringify({ hashIterations: 27_500, algorithm: 'pbkdf2-sha256' }),
  }
  const users = [
    { username: 'old', email: 'old@example.com', credentials: [password], requiredActions: ['UPDATE_PASSWORD'] },
  ]
  const svc = await buildTestApp(t)
  t.match(await run(svc, 'import:keycloak', fileOf(t, JSON.stringify({ users })), '--apply'), [
    { result: 'imported', rows: 1 },
    { reason: /temporary/ },
  ])
  t.equal(await signIn(svc, 'old@example.com', 'the old password'), 200)
})
