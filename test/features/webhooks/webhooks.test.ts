import { Ajv } from 'ajv'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { WebhookMessage } from '../../../src/features/webhooks/message.ts'
import { buildTestApp, testConfig } from '../../support/app.ts'
import { day, hour, minute, second } from '../../support/clock.ts'
import { runCommandOn } from '../../support/command.ts'
import { stopTime } from '../../support/time.ts'
import { until } from '../../support/until.ts'
import { buildHooked, hookSettings, secret, startReceiver } from './receiver.ts'

const older = 'an-older-secret-that-is-plain-text'
const { $schema: _, ...schema } = { $schema: null, ...WebhookMessage }
const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema)

t.test('sends signed messages about the chosen events', async (t) => {
  const [all, some] = [await startReceiver(t), await startReceiver(t)]
  const settings = { rate_limits: { login: null } }
  const svc = await buildHooked(
    t,
    [
      { url: all.url, secret: [secret, older] },
      { url: some.url, events: ['logout', 'user.token_*'] },
    ],
    { settings, clock: stopTime(t) },
  )
  const user = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(user.email)
  await browser.post('/tokens/create', { token_name: 'ci' })
  await browser.post('/logout', {})
  await svc.app.outbox.deliverDue()

  t.same(all.types(), ['user.login', 'user.token_created', 'user.logout'])
  t.same(some.types(), ['user.token_created', 'user.logout'])
  const [first] = all.received
  t.match(first?.headers, { 'content-type': 'application/json', 'user-agent': /^svc\/\d/ })
  t.match(first?.message, {
    type: 'user.login',
    timestamp: /^2026-.*Z$/,
    data: {
      actor: `user:${user.id}`,
      outcome: 'success',
      user_id: user.id,
      user: { id: user.id, email: user.email },
      ip_address: '203.0.113.77',
      details: {},
    },
  })
  for (const { headers, body, message } of all.received) {
    const sent = headers as Record<string, string>
    for (const key of [secret, Buffer.from(older).toString('base64')]) {
      t.ok(new Webhook(key).verify(body, sent), 'both secrets verify')
    }
    t.throws(() => new Webhook(secret).verify(body.replace('user.', 'User.'), sent), 'a changed body is rejected')
    t.ok(isValid(message), 'the body matches the published schema')
    t.notMatch(body, /correct horse|\$scrypt|\$argon|whsec/i)
  }
  const ids = all.received.map(({ headers }) => headers['webhook-id'])
  t.equal(new Set(ids).size, 3)
  t.same(
    some.received.map(({ headers }) => headers['webhook-id']),
    ids.slice(1),
    'receivers share the id of a message',
  )
  t.equal(await svc.database.prisma.outbox.count(), 0)
})

t.test('retries for three days, in order for each user, then keeps the message for replay', async (t) => {
  const receiver = await startReceiver(t)
  const svc = await buildHooked(t, [{ url: receiver.url, events: ['user.login', 'user.logout'] }])
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  receiver.statusOf = ({ data }) => (data.user_id === ada.id ? 503 : 204)
  for (const { email } of [ada, bob]) {
    const browser = svc.browser()
    await browser.signIn(email)
    await browser.post('/logout', {})
  }
  const waits = [2 * second, 10 * second, minute, 5 * minute]
  for (const [index, wait] of waits.entries()) {
    await svc.app.outbox.deliverDue()
    svc.clock.advance(wait - 1)
    await svc.app.outbox.deliverDue()
    t.equal(receiver.received.filter(({ message }) => message.data.user_id === ada.id).length, index + 1)
    svc.clock.advance(1)
  }
  t.same(
    receiver.received.filter(({ message }) => message.data.user_id === bob.id).map(({ message }) => message.type),
    ['user.login', 'user.logout'],
    'other users do not wait',
  )
  const attempts = receiver.received.filter(({ message }) => message.data.user_id === ada.id)
  t.same(new Set(attempts.map(({ message }) => message.type)), new Set(['user.login']), 'the second event waits')
  t.equal(new Set(attempts.map(({ headers }) => headers['webhook-id'])).size, 1)
  t.equal(new Set(attempts.map(({ headers }) => headers['webhook-timestamp'])).size, 4, 'each attempt is signed anew')

  const begun = svc.clock.now()
  for (let passed = 0; (await runCommandOn(svc, 'webhook:list', '--failed')).length === 0; passed += hour) {
    if (passed > 4 * day) throw new Error('svc does not give up')
    svc.clock.advance(hour)
    await svc.app.outbox.deliverDue()
  }
  const days = (svc.clock.now() - begun) / day
  t.ok(days > 2.9 && days < 3.3, `${days} days`)

  const [line = '{}'] = await runCommandOn(svc, 'webhook:list', '--failed')
  const failed = JSON.parse(line)
  t.match(failed, { url: receiver.url, event: 'login', attempts: 12, last_error: 'The receiver answered 503.' })
  t.equal(failed.webhook_id, attempts[0]?.headers['webhook-id'])
  t.match(JSON.parse((await runCommandOn(svc, 'webhook:list', '--json'))[0] ?? ''), {
    ...{ url: receiver.url, failed: 1, last_error: 'The receiver answered 503.' },
  })
  const host = new URL(receiver.url).host
  const lines = svc.logs.filter((line) => line.includes('outbox job failed'))
  t.ok(lines.length > 1 && lines.every((line) => JSON.parse(line).host === host), 'log lines name the receiver')

  receiver.statusOf = null
  receiver.received.length = 0
  svc.clock.advance(day)
  await svc.app.outbox.deliverDue()
  t.same(receiver.types(), ['user.logout'], 'later messages continue')
  for (const words of [[], ['1', '--all'], ['x'], ['--url=https://other.example']])
    await t.rejects(runCommandOn(svc, 'webhook:replay', ...words), { name: 'Error' }, words.join(' '))
  t.same(await runCommandOn(svc, 'webhook:replay', '999999'), ['0 messages will be sent again.'])
  t.same(await runCommandOn(svc, 'webhook:replay', String(failed.id)), ['1 message will be sent again.'])
  await svc.app.outbox.deliverDue()
  t.equal(receiver.received.at(-1)?.headers['webhook-id'], failed.webhook_id)
  t.same(await runCommandOn(svc, 'webhook:list', '--failed'), [])
})

t.test('does not retry 410, follows no redirects, and reaches only allowed addresses', async (t) => {
  const [gone, moved, hidden, target] = await Promise.all([1, 2, 3, 4].map(() => startReceiver(t)))
  if (!gone || !moved || !hidden || !target) throw new Error('no receiver')
  Object.assign(gone, { status: 410 })
  Object.assign(moved, { status: 307, headers: { location: target.url } })
  const svc = await buildHooked(
    t,
    [gone, moved].map(({ url }) => ({ url, events: ['login'] })),
  )
  await svc.browser().signIn((await svc.createUser()).email)
  await svc.app.outbox.deliverDue()
  const [first = '{}', ...others] = await runCommandOn(svc, 'webhook:list', '--failed')
  t.match(JSON.parse(first), { url: gone.url, attempts: 1, last_error: 'The receiver answered 410.' })
  t.same(others, [])
  t.same([moved.received.length, target.received.length], [1, 0])

  const settings = { ...hookSettings({ url: hidden.url }), outbound: { allow_private: [] } }
  const strict = await buildTestApp(t, { settings })
  await strict.browser().signIn((await strict.createUser()).email)
  await strict.app.outbox.deliverDue()
  t.equal(hidden.received.length, 0)
  t.match(await strict.database.prisma.outbox.findMany(), [{ lastError: '127.0.0.1 is not a public address' }])
})

t.test('sends nothing about a change that was rolled back, and no personal data of a deleted account', async (t) => {
  const receiver = await startReceiver(t)
  receiver.status = 500
  const svc = await buildHooked(t, [{ url: receiver.url }])
  const user = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(user.email)
  await svc.app.outbox.deliverDue()
  await browser.post('/user/confirm-password', { password: 'correct horse' })
  t.equal((await browser.delete('/user')).statusCode, 200)
  receiver.status = 204
  receiver.received.length = 0
  for (let count = 0; count < 5; count++) {
    svc.clock.advance(minute)
    await svc.app.outbox.deliverDue()
  }
  t.same(receiver.types(), ['user.login', 'user.password_confirmed', 'user.deleted'])
  for (const { message, body } of receiver.received) {
    t.match(message.data, { user_id: user.id, user: null, ip_address: null, user_agent: null })
    t.notMatch(body, user.email)
  }

  const other = await svc.createUser()
  await t.rejects(
    svc.database.transaction(async (tx) => {
      await svc.app.subscriber.add(tx, { id: 1n, type: 'login', userId: other.id })
      throw new Error('no')
    }),
    { message: 'no' },
  )
  t.equal(await svc.database.prisma.outbox.count({ where: { kind: { startsWith: 'webhook:' } } }), 0)
})

t.test('sends one message an hour about repeated failed sign-ins', async (t) => {
  const receiver = await startReceiver(t)
  const settings = { rate_limits: { login: null } }
  const svc = await buildHooked(t, [{ url: receiver.url, events: ['login_failed'] }], { settings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const failures = async () => {
    const { _count, _sum } = await svc.database.prisma.event.aggregate({ _count: true, _sum: { repeats: true } })
    return _count + (_sum.repeats ?? 0)
  }
  const guess = async () => {
    const before = await failures()
    await svc.browser().signIn(email, 'wrong')
    await until(async () => (await failures()) > before)
    await svc.app.outbox.deliverDue()
  }
  await guess()
  await guess()
  svc.clock.advance(hour)
  await guess()
  await svc.app.outbox.deliverDue()
  t.same(receiver.types(), ['user.login_failed', 'user.login_failed'])
})

t.test('sends events of commands, and follows the receivers of a reloaded configuration', async (t) => {
  const [receiver, later] = [await startReceiver(t), await startReceiver(t)]
  const svc = await buildHooked(t, [{ url: receiver.url, events: ['user.created', 'user.updated'] }])
  const email = 'grace@example.com'
  const { email: known } = await svc.createUser({ email })
  const update = () => runCommandOn(svc, 'user:update', `--email=${known}`, '--role=editor')
  await update()
  await svc.app.outbox.deliverDue()
  t.same(receiver.types(), ['user.updated'])
  t.match(receiver.received[0]?.message.data, {
    actor: 'operator:tester',
    ip_address: null,
    user: { email, role: 'editor' },
  })

  const swap = (url: string) => svc.config.swap({ ...svc.config.current(), ...hooksAt(url) })
  const hooksAt = (url: string) => ({ webhooks: testConfig(hookSettings({ url })).current().webhooks })
  receiver.status = 500
  await update()
  await svc.app.outbox.deliverDue()
  swap(later.url)
  await update()
  svc.clock.advance(hour)
  await svc.app.outbox.deliverDue()
  t.same(later.types(), ['user.updated'])
  t.equal(receiver.received.length, 2, 'svc sends nothing to a removed receiver')
  receiver.status = 204
  swap(receiver.url)
  await svc.app.outbox.deliverDue()
  t.equal(receiver.received.length, 3, 'its messages wait until it returns')
})

t.test('tells receivers that an account was disabled or enabled', async (t) => {
  const receiver = await startReceiver(t)
  const svc = await buildHooked(t, [{ url: receiver.url, events: ['user.disabled', 'user.enabled'] }])
  const { id, email } = await svc.createUser()
  const update = (...words: string[]) => runCommandOn(svc, 'user:update', `--email=${email}`, ...words)
  for (const words of [['--disable'], ['--disable'], ['--role=editor'], ['--enable'], ['--enable']])
    await update(...words)
  await svc.app.outbox.deliverDue()
  t.same(receiver.types(), ['user.disabled', 'user.enabled'], 'only if the state changes')
  t.match(receiver.received[0]?.message.data, { user_id: id, user: { id, email }, actor: /^operator:/ })
})
