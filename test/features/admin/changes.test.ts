import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { runCommand, runCommandOn } from '../../support/command.ts'
import { until } from '../../support/until.ts'

const settings = { app: { url: 'http://localhost:8000' } }

const eventsOf = async (svc: TestApp, type: string) => svc.database.prisma.event.findMany({ where: { type } })

const operator = { actor: 'operator:tester', reason: 'ticket 7', ipAddress: null }

async function openAccount(t: Parameters<typeof buildTestApp>[0]) {
  const svc = await buildTestApp(t, { settings })
  const user = await svc.createUser({ email: 'ada@example.com' })
  const run = (name: string, ...words: string[]) =>
    runCommandOn(svc, name, '--email=ada@example.com', '--reason=ticket 7', ...words)
  const signIn = async (password?: string) => {
    const browser = svc.browser()
    return { browser, statusCode: (await browser.signIn('ada@example.com', password)).statusCode }
  }
  return { svc, user, run, signIn }
}

t.test('sets a password, ends the sessions, and records operator and reason', async (t) => {
  const { svc, signIn } = await openAccount(t)
  const { browser } = await signIn()
  const { app, config, database, clock } = svc
  const services = { config, database, now: clock.now(), mail: app.mail, sessionListener: app.sessionListener }
  const set = (password: string) =>
    runCommand({ ...services, readPassword: async () => password }, 'user:set-password', '--id=1', '--reason=ticket 7')
  await t.rejects(set(''), /password field is required/)
  t.equal((await browser.get('/user/sessions')).statusCode, 200)
  await set('another horse')
  t.equal((await browser.get('/user/sessions')).statusCode, 401)
  t.equal((await signIn()).statusCode, 401)
  t.equal((await signIn('another horse')).statusCode, 200)
  t.match(await eventsOf(svc, 'password_changed'), [operator])
  const [mail] = await svc.mailbox.to('ada@example.com')
  t.match(mail?.subject, /password was changed/i)
})

t.test('prints a reset link that works once', async (t) => {
  const { svc, run } = await openAccount(t)
  const [link = ''] = await run('user:reset-link')
  const token = /reset-password\/([0-9a-f]{64})/.exec(link)?.[1] ?? ''
  const password = 'a new battery'
  const body = { email: 'ada@example.com', token, password, password_confirmation: password }
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  t.equal((await browser.post('/reset-password', body)).statusCode, 200)
  t.equal((await browser.post('/reset-password', body)).statusCode, 422)
  t.match(await eventsOf(svc, 'password_reset_requested'), [operator])
  t.notOk(svc.logs.some((line) => line.includes(token)))
  t.same(await run('user:reset-link', '--mail'), ['Link mailed.'])
  t.ok((await svc.mailbox.to('ada@example.com')).some(({ text }) => /reset-password\/[0-9a-f]{64}/.test(text)))
  await run('user:disable')
  await t.rejects(run('user:reset-link'), /account is disabled/)
})

t.test('ends sessions, and keeps tokens', async (t) => {
  const { svc, user, run, signIn } = await openAccount(t)
  const token = await svc.createToken(user)
  const { browser } = await signIn()
  t.same(await run('user:logout'), ['1 session ended.'])
  t.equal((await browser.get('/api/user')).statusCode, 401)
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200)
  t.match(await eventsOf(svc, 'sessions_ended'), [operator])
})

t.test('disables and enables an account', async (t) => {
  const { svc, user, run, signIn } = await openAccount(t)
  const token = await svc.createToken(user)
  t.match(JSON.parse((await run('user:disable')).join()), { disabled: true })
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401)
  t.equal((await signIn()).statusCode, 401)
  t.match(JSON.parse((await run('user:enable')).join()), { disabled: false })
  t.equal((await signIn()).statusCode, 200)
  t.match(await eventsOf(svc, 'user_updated'), [operator, operator])
})

t.test('unlocks an account that failed sign-ins locked, from every address', async (t) => {
  const { svc, run, signIn } = await openAccount(t)
  for (let i = 0; i < 5; i++) await signIn('wrong')
  t.equal((await signIn()).statusCode, 429)
  await until(async () => (await eventsOf(svc, 'login_failed'))[0]?.repeats === 4)
  t.same(await run('user:unlock'), ['Account unlocked.'])
  t.equal((await signIn()).statusCode, 200)
  t.match(await eventsOf(svc, 'account_unlocked'), [operator])
})

t.test('deletes an account as its user can, and removes personal data from the reason', async (t) => {
  const { svc, user, signIn } = await openAccount(t)
  await signIn()
  const reason = '--reason=request of ADA@example.com, ticket 8'
  const remove = (...words: string[]) => runCommandOn(svc, 'user:delete', '--email=ada@example.com', reason, ...words)
  await t.rejects(remove(), /requires --yes/)
  t.equal(await svc.database.prisma.user.count(), 1)
  t.same(await remove('--yes'), ['User deleted.'])
  t.equal(await svc.database.prisma.user.count(), 0)
  const events = await svc.database.prisma.event.findMany({ where: { userId: BigInt(user.id) } })
  for (const { ipAddress, userAgent, credential, data } of events) {
    t.same([ipAddress, userAgent, credential], [null, null, null])
    t.notMatch(data, /\bada\b/i)
  }
  t.match(events.at(-1), { type: 'user_deleted', actor: 'operator:tester', reason: 'request of …, ticket 8' })
  const [mail] = await svc.mailbox.to('ada@example.com')
  t.match(mail?.subject, /account was deleted/i)
})

t.test('lists and revokes tokens and sessions', async (t) => {
  const { svc, user, signIn } = await openAccount(t)
  const [first, second] = [await svc.createToken(user, { name: 'one' }), await svc.createToken(user, { name: 'two' })]
  const { browser } = await signIn()
  const list = async (name: string, ...words: string[]) =>
    (await runCommandOn(svc, name, '--id=1', ...words)).map((line) => JSON.parse(line))
  const tokens = await list('token:list')
  t.match(tokens, [{ kind: 'api_token', name: 'one' }, { name: 'two' }])
  t.match(await list('token:list', '--limit=1', `--after=${tokens[0].id}`), [{ name: 'two' }])
  await runCommandOn(svc, 'token:revoke', tokens[0].id, '--reason=ticket 7')
  t.equal((await svc.bearer(first, 'GET', '/api/user')).statusCode, 401)
  t.equal((await svc.bearer(second, 'GET', '/api/user')).statusCode, 200)
  for (const id of [tokens[0].id, 'unknown', '99999999999999999999', "'"]) {
    await t.rejects(runCommandOn(svc, 'token:revoke', id), /not found/, id)
  }
  await t.rejects(runCommandOn(svc, 'token:revoke'), /either <id> or --all/)
  await runCommandOn(svc, 'token:revoke', '--all', '--id=1')
  t.equal((await svc.bearer(second, 'GET', '/api/user')).statusCode, 401)
  t.match(await eventsOf(svc, 'token_revoked'), [operator])

  const [session] = await list('session:list')
  t.match(session, { kind: 'session', ip_address: '203.0.113.77' })
  await runCommandOn(svc, 'session:revoke', session.id, '--reason=ticket 7')
  t.equal((await browser.get('/api/user')).statusCode, 401)
  t.same(await list('session:list'), [])
  for (const id of [session.id, '12', 'x']) await t.rejects(runCommandOn(svc, 'session:revoke', id), /not found/, id)
  t.match(await eventsOf(svc, 'session_ended'), [operator])
})
