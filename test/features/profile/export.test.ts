import t from 'tap'
import { exportEvents } from '../../../src/features/activity/export.ts'
import { addAccount, confirmAt, hides, openAccount } from '../../support/account-pages.ts'
import type { TestApp } from '../../support/app.ts'
import { confirming } from '../../support/app.ts'
import { codeFlow, oauthSettings, Person } from '../../support/oauth.ts'
import { confirmedBrowser, enableTwoFactor } from '../../support/totp.ts'

const path = '/account/data/export'

/** Secrets of stored rows: hashes, keys, encrypted texts and session ids. */
async function storedSecrets({ database: { prisma } }: TestApp): Promise<string[]> {
  const rows: [readonly object[], readonly string[]][] = [
    [
      await prisma.user.findMany(),
      ['password', 'twoFactorSecret', 'twoFactorRecoveryCodes', 'twoFactorLastStep', 'passkeyHandle'],
    ],
    [await prisma.session.findMany(), ['id', 'passwordFingerprint']],
    [await prisma.rememberToken.findMany(), ['tokenHash', 'previousHash', 'passwordFingerprint']],
    [await prisma.personalAccessToken.findMany(), ['token']],
    [await prisma.passkey.findMany(), ['credentialId', 'publicKey']],
    [await prisma.socialAccount.findMany(), ['tokens']],
    [await prisma.oauthRecord.findMany(), ['payload', 'grantHash', 'codeHash', 'uidHash', 'parentHash']],
  ]
  return rows.flatMap(([found, columns]) =>
    found.flatMap((row) =>
      Object.entries(row).flatMap(([name, value]) =>
        columns.includes(name) && value && value !== '{}' ? [String(value)] : [],
      ),
    ),
  )
}

/** Adds a row of every kind to the account. */
async function fill(svc: TestApp, userId: number): Promise<void> {
  const { prisma } = svc.database
  const now = new Date(svc.clock.now())
  const dates = { createdAt: now, updatedAt: now }
  const owner = { userId: BigInt(userId) }
  await prisma.passkey.create({
    data: {
      ...owner,
      name: 'My key',
      credentialId: `credential-of-${userId}-abcdefgh`,
      publicKey: `public-key-of-${userId}-abcdefgh`,
      counter: 0n,
      transports: '[]',
      ...dates,
      backedUp: true,
    },
  })
  await prisma.socialAccount.create({
    data: {
      ...owner,
      ...dates,
      provider: 'github',
      issuer: '',
      providerId: `github-${userId}`,
      tokens: `encrypted-tokens-of-${userId}`,
      lastUsedAt: now,
    },
  })
  await prisma.emailChange.create({
    data: {
      ...owner,
      oldEmail: `old-${userId}@example.com`,
      newEmail: `new-${userId}@example.com`,
      createdAt: now,
      expiresAt: now,
    },
  })
  await prisma.sampleServer.create({ data: { ...owner, id: BigInt(userId), name: `server-${userId}` } })
  await prisma.sampleTask.create({ data: { ...owner, title: `task-${userId}` } })
  await prisma.rememberToken.create({
    data: {
      ...owner,
      tokenHash: `remember-hash-of-${userId}`,
      passwordFingerprint: `remember-fingerprint-of-${userId}`,
      createdAt: now,
      lastUsedAt: now,
      expiresAt: now,
    },
  })
}

t.test('downloads the data of the user, without secrets and data of others', async (t) => {
  const { svc, user, browser } = await openAccount(t, { ...oauthSettings, ...confirming })
  const stranger = await addAccount(t, svc)
  const secrets: string[] = ['correct horse']
  for (const one of [user, stranger.user]) {
    await fill(svc, one.id)
    secrets.push((await svc.createToken(one)).split('|')[1] ?? '')
    const tokens = await codeFlow(svc, new Person(svc, one.email), 'web', { scope: 'openid orders:read' })
    secrets.push(tokens.access_token, tokens.refresh_token)
  }
  const typed = { name: 'Report', 'abilities[]': 'orders:read' }
  const created = await browser.send('/account/personal-tokens/new', typed, 'name')
  secrets.push(/id="token" value="([^"]+)"/.exec(created.body)?.[1] ?? 'none')
  t.match((await browser.open('/account/data')).body, `href="${path}"`)
  await confirmAt(t, browser, path)
  t.equal((await browser.open(path)).statusCode, 200)
  const twoFactor = await enableTwoFactor(svc, user)
  secrets.push(twoFactor.secret, ...twoFactor.recoveryCodes)
  const answer = await twoFactor.browser.get(path, { accept: 'text/html' })
  t.equal(answer.statusCode, 200)
  t.match(answer.headers, {
    'content-disposition': 'attachment; filename="account-data.json"',
    'content-type': /^application\/json/,
    'cache-control': 'no-store',
  })
  const data = answer.json()
  t.match(data, {
    exported_at: String,
    profile: { id: user.id, name: user.name, email: user.email },
    sessions: [{ user_agent: 'lightMyRequest' }],
    tokens: [{ abilities: ['*'] }],
    passkeys: [{ name: 'My key' }],
    linked_accounts: [{ provider: 'github', provider_id: `github-${user.id}` }],
    applications: [{ client: { id: 'web' }, scopes: ['openid', 'orders:read'] }],
    email_changes: [
      { old_email: `old-${user.id}@example.com`, new_email: `new-${user.id}@example.com`, applied_at: null },
    ],
    sample_servers: [{ id: user.id, name: `server-${user.id}` }],
    sample_tasks: [{ title: `task-${user.id}` }],
    personal_access_tokens: [{ name: 'Report', scopes: ['orders:read'] }],
  })
  t.ok(data.events.some(({ type }: { type: string }) => type === 'login'))
  for (const hidden of [...secrets, ...(await storedSecrets(svc))]) {
    t.not(hidden, '')
    t.notOk(answer.body.includes(hidden), hidden.slice(0, 30))
  }
  for (const foreign of [
    stranger.user.email,
    ...['github-', 'old-', 'server-', 'task-'].map((kind) => kind + stranger.user.id),
  ])
    t.notOk(answer.body.includes(foreign), 'data of other users')
})

t.test('gives programs the same data after a confirmation', async (t) => {
  const { svc, user } = await openAccount(t, confirming)
  const plain = svc.browser()
  await plain.signIn(user.email)
  t.equal((await plain.get('/user/export')).statusCode, 423)
  const browser = await confirmedBrowser(svc, user.email)
  const answer = await browser.get('/user/export')
  t.match(answer.json(), { profile: { email: user.email }, tokens: [], passkeys: [], linked_accounts: [] })
  const token = await svc.createToken(user)
  t.equal((await svc.bearer(token, 'GET', '/user/export')).statusCode, 401, 'not for API tokens')
})

t.test('has at most 10,000 events', async (t) => {
  const { svc, user } = await openAccount(t, confirming)
  const createdAt = new Date(svc.clock.now() - 1000)
  const event = { type: 'login', userId: BigInt(user.id), createdAt }
  for (let round = 0; round < 11; round++)
    await svc.database.prisma.event.createMany({ data: Array.from({ length: 1000 }, () => event) })
  t.equal((await exportEvents(svc.database, user.id)).length, 10_000)
})

t.test('hides the download with its section', async (t) => {
  await hides(t, 'data')
  const { browser } = await openAccount(t, { account: { sections: ['profile'] } })
  t.equal((await browser.open(path)).statusCode, 404)
})
