// engine: none
import { hashSync as argon2 } from '@node-rs/argon2'
import { hashSync as bcrypt } from '@node-rs/bcrypt'
import t, { type Test } from 'tap'
import { costOf } from '../../../src/platform/crypto/stored-password.ts'
import { removePassword } from '../../support/accounts.ts'
import { buildTestApp, confirming, type TestApp } from '../../support/app.ts'
import { setDisabled } from '../../support/command.ts'
import { hashing } from '../../support/hashing.ts'
import { beforeNextTransaction } from '../../support/meanwhile.ts'

const secret = 'a-secret-that-is-long-enough'
const clients = [{ client_id: 'phone', type: 'confidential', secret, grants: ['password'] }]
const settings = { ...confirming, clients, rate_limits: { login: null, login_address: null } }

/** Records the work of the hashing threads: the costs of the hashes that each password was checked against. */
function watchChecks(t: Test): () => string[][] {
  const runs = t.capture(hashing, 'run', hashing.run)
  return () =>
    runs().flatMap(({ args: [task] }) =>
      task.checks ? [task.checks.map((stored: string) => costOf(stored) ?? 'none').sort()] : [],
    )
}

/** Every entry point that takes an address and a password. */
const channels: Record<string, (svc: TestApp, email: string, password: string) => Promise<{ statusCode: number }>> = {
  '/login': async (svc, email, password) => svc.browser().signIn(email, password),
  '/oauth/login': async (svc, email, password) => {
    const browser = svc.browser()
    await browser.get('/svc/csrf-cookie')
    return browser.post('/oauth/login', { email, password }, { accept: 'text/html' })
  },
  '/test-login': async (svc, email, password) => {
    const browser = svc.browser()
    await browser.get('/svc/csrf-cookie')
    return browser.post('/test-login', { email, password })
  },
  '/svc/token': (svc, email, password) => svc.bearer(null, 'POST', '/svc/token', { email, password, device_name: 'd' }),
  'the password grant': ({ app }, username, password) =>
    app.inject({
      method: 'POST',
      url: '/oauth/token',
      payload: { grant_type: 'password', username, password, client_id: 'phone', client_secret: secret },
    }),
}

/** Stores a hash as an earlier application left it. */
const storeHash = ({ database }: TestApp, email: string, password: string) =>
  database.prisma.user.update({ where: { email }, data: { password } })

t.test(
  'does one password check for known, unknown, disabled and password-less users at every entry point',
  async (t) => {
    const svc = await buildTestApp(t, { settings })
    const checks = watchChecks(t)
    const users = {
      known: (await svc.createUser()).email,
      unknown: 'unknown@example.com',
      disabled: (await svc.createUser()).email,
      'password-less': (await svc.createUser({ password: null })).email,
    }
    await setDisabled(svc, users.disabled, true)
    checks()
    for (const [channel, enter] of Object.entries(channels)) {
      for (const [kind, email] of Object.entries(users)) {
        const { statusCode } = await enter(svc, email, 'wrong')
        t.ok([400, 401, 422].includes(statusCode), `${channel} rejects a ${kind} user with ${statusCode}`)
        t.equal(
          checks()
            .map((costs) => costs.length)
            .join(),
          '1',
          `${channel} does one check for a ${kind} user`,
        )
      }
      await enter(svc, users.disabled, 'correct horse')
      t.equal(checks().length, 1, `${channel} checks the right password of a disabled user`)
    }
  },
)

t.test('checks one hash for signed-in users with and without a password', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const checks = watchChecks(t)
  const change = { current_password: 'wrong', password: 'violet engine on', password_confirmation: 'violet engine on' }
  for (const kind of ['known', 'password-less']) {
    const user = await svc.createUser()
    const spa = svc.browser()
    await spa.signIn(user.email)
    if (kind === 'password-less') await removePassword(svc, user.id)
    checks()
    const answers = {
      '/user/confirm-password': () => spa.post('/user/confirm-password', { password: 'wrong' }),
      '/user/password': () => spa.put('/user/password', change),
      '/user/other-sessions': () => spa.delete('/user/other-sessions', { password: 'wrong' }),
    }
    for (const [path, send] of Object.entries(answers)) {
      t.ok([422, 423].includes((await send()).statusCode), path)
      t.equal(checks().length, 1, `${path} does one check for a ${kind} user`)
    }
  }
})

t.test('costs the same total work for every account while legacy hashes are stored', async (t) => {
  const first = await buildTestApp(t, { settings })
  const emails = {
    current: (await first.createUser()).email,
    bcrypt: (await first.createUser()).email,
    argon2i: (await first.createUser()).email,
    'other cost': (await first.createUser()).email,
    unreadable: (await first.createUser()).email,
    'password-less': (await first.createUser({ password: null })).email,
    unknown: 'unknown@example.com',
  }
  await storeHash(first, emails.bcrypt, bcrypt('correct horse', 4).replace('$2b$', '$2y$'))
  await storeHash(first, emails.argon2i, argon2('correct horse', { algorithm: 1, memoryCost: 1024, timeCost: 2 }))
  await storeHash(first, emails['other cost'], argon2('correct horse', { memoryCost: 4096, timeCost: 1 }))
  await storeHash(first, emails.unreadable, '$2y$10$short')
  const svc = await buildTestApp(t, { settings, database: first.where, clock: first.clock })
  const checks = watchChecks(t)
  const work = new Map<string, string>()
  for (const [kind, email] of Object.entries(emails)) {
    t.equal((await svc.browser().signIn(email, 'wrong')).statusCode, 401)
    const done = checks()
    t.equal(done.length, 1, kind)
    work.set(kind, String(done[0]))
  }
  t.equal(new Set(work.values()).size, 1, 'from the first attempt after the start')
  t.equal(work.get('unknown')?.split('$2b$04$').length, 2, 'an unknown address costs a bcrypt check too')
  t.equal(work.get('unknown')?.split('$argon2').length, 4, 'and the three variants of argon2')
  for (const kind of ['bcrypt', 'argon2i', 'other cost'] as const) {
    t.equal((await svc.browser().signIn(emails[kind])).statusCode, 200, kind)
    const row = await svc.database.prisma.user.findUniqueOrThrow({ where: { email: emails[kind] } })
    t.match(row.password, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/, `${kind} is replaced`)
  }
  const last = await buildTestApp(t, { settings, database: first.where, clock: first.clock })
  checks()
  await last.browser().signIn('unknown@example.com', 'wrong')
  t.equal(checks()[0]?.length, 1, 'a restart drops the extra work once no legacy hash remains')
})

t.test('includes the cost of a legacy hash that is stored later', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { email } = await svc.createUser()
  await storeHash(svc, email, bcrypt('correct horse', 4))
  const checks = watchChecks(t)
  for (const address of [email, 'unknown@example.com']) {
    await svc.browser().signIn(address, 'wrong')
    t.equal(checks()[0]?.length, 2, address)
  }
})

t.test('rejects a sign-in with a legacy hash when the password changes before the rehash', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { email } = await svc.createUser()
  const other = await svc.createUser({ password: 'another password' })
  const { password } = await svc.database.prisma.user.findUniqueOrThrow({ where: { email: other.email } })
  await storeHash(svc, email, bcrypt('correct horse', 4))
  beforeNextTransaction(svc, () => storeHash(svc, email, password ?? ''))
  t.equal((await svc.browser().signIn(email)).statusCode, 401)
  await storeHash(svc, email, bcrypt('correct horse', 4))
  const together = await Promise.all([svc.browser(), svc.browser(), svc.browser()].map((spa) => spa.signIn(email)))
  for (const { statusCode } of together) t.equal(statusCode, 200)
})
