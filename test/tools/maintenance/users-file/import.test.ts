// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { hashPassword } from '../../../../src/platform/crypto/password.ts'
import { buildTestApp, testConfig } from '../../../support/app.ts'
import { runCommandOn } from '../../../support/command.ts'
import { temporaryDirectory } from '../../../support/process.ts'
import { codeAt } from '../../../support/totp.ts'

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

/** A realm in the format of an export, with what the real one above does not have. */
const more = {
  realm: 'acme',
  users: [
    {
      ...{ username: 'cleo', email: 'cleo@example.com', emailVerified: true, enabled: true },
      credentials: [
        {
          type: 'otp',
          secretData: JSON.stringify({ value: 'nKxPzVdF3mQwRt7uYb2c' }),
          credentialData: JSON.stringify({ subType: 'totp', digits: 6, counter: 0, period: 30, algorithm: 'HmacSHA1' }),
        },
      ],
      federatedIdentities: [
        { identityProvider: 'google', userId: '117', userName: 'cleo' },
        { identityProvider: 'microsoft', userId: '5', userName: 'cleo' },
        { identityProvider: 'github', userId: '6', userName: 'cleo' },
        { identityProvider: 'gitlab', userId: '7', userName: 'cleo' },
      ],
      realmRoles: ['default-roles-acme', 'auditor'],
    },
    {
      ...{ username: 'dora', email: 'dora@example.com', enabled: true },
      credentials: [
        {
          type: 'otp',
          secretData: JSON.stringify({ value: 'JBSWY3DPEHPK3PXP' }),
          credentialData: JSON.stringify({ subType: 'totp', digits: 8, period: 30, algorithm: 'HmacSHA256' }),
        },
      ],
    },
  ],
  identityProviders: [
    { alias: 'google', providerId: 'google', config: { clientId: 'kc' } },
    { alias: 'microsoft', providerId: 'microsoft', config: {} },
    { alias: 'github', providerId: 'github', config: { baseUrl: 'https://github.corp.example' } },
    { alias: 'gitlab', providerId: 'gitlab', config: {} },
  ],
  clients: [
    { clientId: 'account', enabled: true },
    {
      ...{ clientId: 'shop', name: 'The Shop', enabled: true, protocol: 'openid-connect', publicClient: false },
      ...{
        secret: 'kc-secret',
        standardFlowEnabled: true,
        serviceAccountsEnabled: true,
        rootUrl: 'https://shop.example',
      },
      redirectUris: ['/callback', 'https://shop.example/*'],
      attributes: {
        'post.logout.redirect.uris': 'https://shop.example/bye##+',
        'backchannel.logout.url': 'https://shop.example/backchannel',
      },
    },
    {
      clientId: 'spa',
      enabled: true,
      publicClient: true,
      standardFlowEnabled: true,
      redirectUris: ['https://spa.example/cb'],
    },
    { clientId: 'masked', enabled: true, secret: '**********', serviceAccountsEnabled: true },
    { clientId: 'saml', enabled: true, protocol: 'saml' },
    { clientId: 'old', enabled: false },
    { clientId: 'api', enabled: true, bearerOnly: true, standardFlowEnabled: true },
    {
      clientId: 'signed',
      enabled: true,
      serviceAccountsEnabled: true,
      secret: 'left',
      clientAuthenticatorType: 'client-jwt',
    },
  ],
}

t.test('imports authenticator apps, links and roles of Keycloak', async (t) => {
  const own = { client_id: 'svc', client_secret: 'secret' }
  const social = { google: own, github: { ...own } }
  const svc = await buildTestApp(t, { settings: { social } })
  const file = join(temporaryDirectory(t), 'realm.json')
  writeFileSync(file, JSON.stringify(more))
  const lines = await runCommandOn(svc, 'import:keycloak', file, '--apply', '--roles-as-groups')
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      { table: 'groups', result: 'imported', rows: 1 },
      { table: 'users', result: 'imported', rows: 2 },
      { reason: /^links to identity providers of the realm with addresses of their own/, ids: ['cleo'] },
      { reason: 'a link to microsoft, which gives svc another id of the user', ids: ['cleo'] },
      { reason: 'a link to gitlab, because the configuration has no provider social.gitlab', ids: ['cleo'] },
      { reason: /^authenticator apps: svc has one/, ids: ['dora'] },
    ],
  )
  const [cleo, dora] = await svc.database.prisma.user.findMany({ orderBy: { id: 'asc' } })
  t.match(cleo, { groups: '["auditor"]', twoFactorConfirmedAt: Date })
  t.equal(dora?.twoFactorConfirmedAt, null)
  t.notMatch(cleo?.twoFactorSecret, 'NZFXQ', 'the secret is encrypted')
  const links = await svc.database.prisma.socialAccount.findMany()
  t.match(links, [{ provider: 'google', issuer: 'https://accounts.google.com', providerId: '117', userId: cleo?.id }])
  const hash = hashPassword('correct horse')
  await svc.database.prisma.user.update({ where: { id: cleo?.id ?? 0n }, data: { password: hash } })
  const secret = 'NZFXQUD2KZSEMM3NKF3VE5BXOVMWEMTD'
  const code = codeAt(secret, svc.clock.now())
  const body = { email: 'cleo@example.com', password: 'correct horse', device_name: 'phone' }
  t.equal((await svc.bearer(null, 'POST', '/svc/token', { ...body, code })).statusCode, 200, 'the code of the app')
})

t.test('prints the clients of Keycloak for the configuration', async (t) => {
  const svc = await buildTestApp(t)
  const file = join(temporaryDirectory(t), 'realm.json')
  writeFileSync(file, JSON.stringify(more))
  const text = (await runCommandOn(svc, 'import:keycloak', file, '--clients')).join('\n')
  const { clients } = parse(text)
  t.match(clients, [
    {
      ...{ client_id: 'shop', name: 'The Shop', type: 'confidential', secret_hash: /^[\w$:.+/=-]{40,}$/ },
      redirect_uris: ['https://shop.example/callback'],
      post_logout_redirect_uris: ['https://shop.example/bye'],
      backchannel_logout_uri: 'https://shop.example/backchannel',
      grants: ['authorization_code', 'refresh_token', 'client_credentials'],
    },
    { client_id: 'spa', type: 'public', grants: ['authorization_code', 'refresh_token'] },
    { client_id: 'masked', grants: ['client_credentials'] },
    { client_id: 'signed', secret_hash: undefined },
  ])
  for (const words of [
    /# svc needs exact redirect URIs[\s\S]*https:\/\/shop\.example\/\*/,
    /# The export has no secret/,
    /# It authenticates with client-jwt/,
    /# svc needs exact post_logout_redirect_uris/,
    /saml: svc does not speak saml/,
    /old: it is disabled/,
    /api: it has no flow that svc supports/,
  ]) {
    t.match(text, words)
  }
  t.notMatch(text, 'kc-secret')
  const config = testConfig({ clients: clients.slice(0, 2) })
  t.equal(config.current().clients.length, 2, 'the configuration accepts them')
  t.equal(await svc.database.prisma.user.count(), 0)
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
