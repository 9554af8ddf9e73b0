// engine: none
import t from 'tap'
import { registration, strongPassword, visitor } from '../support/accounts.ts'
import { buildTestApp } from '../support/app.ts'
import { hour, minute, second } from '../support/clock.ts'

t.test('sends no notice to an unverified address', async (t) => {
  const svc = await buildTestApp(t)
  const mallory = await visitor(svc)
  t.equal((await mallory.post('/register', registration('victim@example.com'))).statusCode, 201)
  t.equal((await svc.mailbox.all()).length, 1, 'the verification mail')
  let [current, next] = [strongPassword, `${strongPassword}!`]
  for (let i = 0; i < 5; i++) {
    const body = { current_password: current, password: next, password_confirmation: next }
    t.equal((await mallory.put('/user/password', body)).statusCode, 200)
    ;[current, next] = [next, current]
    svc.clock.advance(2 * second)
  }
  t.equal((await svc.mailbox.all()).length, 1)
})

t.test('merges equal notices: sends the first immediately, and the others in one mail with their number', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createUser({ email: 'ada@example.com' })
  const spa = svc.browser()
  await spa.signIn('ada@example.com')
  const change = async (current: string, next: string) => {
    const body = { current_password: current, password: next, password_confirmation: next }
    t.equal((await spa.put('/user/password', body)).statusCode, 200)
  }
  const notices = async () =>
    (await svc.mailbox.to('ada@example.com')).filter(({ subject }) => subject === 'Your password was changed')
  await change('correct horse', strongPassword)
  t.equal((await notices()).length, 1)
  let [current, next] = [strongPassword, `${strongPassword}!`]
  for (let i = 0; i < 12; i++) {
    svc.clock.advance(minute)
    await change(current, next)
    ;[current, next] = [next, current]
  }
  t.equal((await notices()).length, 1, 'equal ones wait')
  t.equal(await svc.database.prisma.outbox.count(), 1, 'in one row')
  svc.clock.advance(hour)
  const [first, merged, ...more] = await notices()
  t.equal(more.length, 0)
  t.notMatch(first?.text, 'times since')
  t.match(merged?.text, 'This happened 12 times since our last email about it. The last time:\n')
  t.match(merged?.html, 'This happened 12 times since our last email about it.')
  t.match(merged?.text, 'When: November 20, 2026 at 12:12 PM UTC')
})

t.test('delays a notice beyond the limit by an hour at most, and never drops it', async (t) => {
  const svc = await buildTestApp(t)
  await svc.createUser({ email: 'victim@example.com' })
  const spa = svc.browser()
  await spa.signIn('victim@example.com')
  const budget = { max: 6, window: 24 * hour, block: 'growing' } as const
  for (let i = 0; i < 6; i++) {
    await svc.app.counters.hit('mails-to:notice:victim@example.com', budget, svc.clock.now())
  }
  const before = (await svc.mailbox.all()).length
  const body = { current_password: 'correct horse', password: strongPassword, password_confirmation: strongPassword }
  t.equal((await spa.put('/user/password', body)).statusCode, 200, 'the change itself is never rejected')
  t.equal((await svc.mailbox.all()).length, before)
  svc.clock.advance(hour)
  const [notice] = (await svc.mailbox.to('victim@example.com')).slice(-1)
  t.match(notice?.subject, 'Your password was changed')
  t.notMatch(notice?.text, 'times since')
})

t.test('spreads the notices that wait for the budget of one address over a minute', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: '2/1m' } } })
  const users = 60
  for (let i = 0; i < users; i++) {
    await svc.createUser({ email: `user${i}@example.com` })
    await svc.browser({ known: false }).signIn(`user${i}@example.com`)
  }
  const sent = (await svc.mailbox.all()).length
  t.equal(sent, 20, 'the budget of an address is ten times that of a user')
  const waiting = await svc.database.prisma.outbox.findMany({ select: { availableAt: true } })
  t.equal(waiting.length, users - sent)
  const delays = waiting.map(({ availableAt }) => availableAt.getTime() - svc.clock.now())
  t.ok(
    delays.every((delay) => delay >= 30 * second && delay < 30 * second + minute),
    'after the block of 30 s',
  )
  const perTenSeconds = Object.values(Object.groupBy(delays, (delay) => Math.floor(delay / (10 * second))))
  t.ok(
    perTenSeconds.every((some) => (some?.length ?? 0) <= 25),
    'at most 25 in each ten seconds',
  )
  svc.clock.advance(30 * second + minute)
  t.equal((await svc.mailbox.all()).length, users)
})
