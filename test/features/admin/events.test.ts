import t from 'tap'
import { newEvents } from '../../../src/identity/event-list.ts'
import { recordEvents, systemOrigin } from '../../../src/identity/events.ts'
import { wireDate } from '../../../src/identity/wire-date.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { hour, minute } from '../../support/clock.ts'
import { runCommandOn } from '../../support/command.ts'

const list = async (svc: TestApp, ...words: string[]) =>
  (await runCommandOn(svc, 'event:list', ...words)).map((line) => JSON.parse(line))

const record = (svc: TestApp, type: 'login' | 'login_failed' | 'consent_given', userId: number, data = {}) =>
  recordEvents(
    svc.database,
    { ...systemOrigin({ now: svc.clock.now(), subscriber: svc.app.subscriber }), actor: null },
    { type, userId, data },
  )

t.test('lists events by type, user, client and time, the newest first, in pages', async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser({ email: 'ada@example.com' }), await svc.createUser()]
  await record(svc, 'login', ada.id)
  svc.clock.advance(2 * hour)
  await record(svc, 'consent_given', ada.id, { client_id: 'web' })
  await record(svc, 'login', bob.id)
  const types = async (...words: string[]) => (await list(svc, ...words)).map(({ type, user_id }) => [type, user_id])
  const all = [
    ['login', bob.id],
    ['consent_given', ada.id],
    ['login', ada.id],
  ]
  t.same(await types(), all)
  t.same(await types('--type=login'), [all[0], all[2]])
  t.same(await types('--user=ADA@example.com'), [all[1], all[2]])
  t.same(await types(`--user-id=${bob.id}`), [all[0]])
  t.same(await types('--client=web'), [all[1]])
  t.same(await types('--client=other'), [])
  t.same(await types('--since=1h'), [all[0], all[1]])
  t.same(await types(`--until=${new Date(svc.clock.now() - hour).toISOString()}`), [all[2]])
  const [first] = await list(svc, '--limit=1')
  t.match(first, { type: 'login', actor: `user:${bob.id}`, target: `user:${bob.id}`, outcome: 'success' })
  t.same(await types('--limit=1', `--after=${first.cursor}`), [all[1]])
  await t.rejects(list(svc, '--type=logn'), /--type must be one of/)
  await t.rejects(list(svc, '--since=yesterday'), /--since must be a time/)
  await t.rejects(list(svc, '--after=x'), /--after must be the cursor/)
})

t.test('follows events, and finds those that commit late', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await svc.createUser()
  await record(svc, 'login', ada.id)
  const fresh = newEvents(svc.database, { userId: ada.id }, svc.clock.now())
  t.same(await fresh(), [], 'not the earlier ones')
  await record(svc, 'consent_given', ada.id)
  t.match(await fresh(), [{ type: 'consent_given' }])
  const createdAt = new Date(svc.clock.now() - 5_000)
  await svc.database.prisma.event.create({ data: { type: 'logout', userId: BigInt(ada.id), createdAt } })
  t.match(await fresh(), [{ type: 'logout' }])
  t.same(await fresh(), [])
})

t.test('keeps the time of the latest failed sign-in when an earlier one is recorded after it', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await svc.createUser()
  const latest = svc.clock.now() + 10 * minute
  for (const wait of [10 * minute, -2 * minute, minute]) {
    svc.clock.advance(wait)
    await record(svc, 'login_failed', ada.id)
  }
  t.match(await list(svc), [{ type: 'login_failed', times: 3, last_at: wireDate(new Date(latest)) }])
})
