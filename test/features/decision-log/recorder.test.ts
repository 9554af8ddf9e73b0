// engine: none
import t from 'tap'
import { decisionLogFeature } from '../../../src/features/decision-log/feature.ts'
import { batchesSince } from '../../../src/features/decision-log/store.ts'
import { ask, buildPlanned, rules, server } from '../../support/planned.ts'

t.test('records nothing by default, and a sample on request', async (t) => {
  const count = async (decisions: object) => {
    const svc = await buildPlanned(t, { server, guard: { rules }, audit: { decisions } })
    for (let at = 0; at < 300; at++) await ask(svc, `/other/${at}`)
    await svc.flush()
    return (await svc.plan({}, '--replay=1h')).replay?.decisions ?? 0
  }
  t.equal(await count({}), 0)
  const some = await count({ enabled: true, sample: 10 })
  t.ok(some > 5 && some < 80, `${some} of 300`)
})

t.test(
  'encrypts the decisions, stores no credential, limits their number, and deletes them after the time',
  async (t) => {
    const svc = await buildPlanned(t, { server, guard: { rules }, audit: { decisions: { enabled: true, keep: '1h' } } })
    const plain = await svc.createToken(await svc.createUser())
    const headers = {
      authorization: `Bearer ${plain}`,
      cookie: 'svc_session=the-session',
      referer: 'https://app.example/secret-page',
    }
    await ask(svc, '/orders/the-path?query=1', headers)
    for (let at = 0; at < 1_010; at++) await ask(svc, `/other/${at}`)
    await ask(svc, `/orders/${'a'.repeat(5_000)}`)
    await svc.flush()
    const [row, ...others] = await svc.database.prisma.decisionBatch.findMany()
    t.equal(others.length, 0)
    t.notMatch(row?.decisions, /the-path/)
    const secrets = svc.config.current().app.secret
    for await (const batch of batchesSince(svc.database, secrets, 0)) {
      const text = JSON.stringify(batch)
      t.match(text, 'the-path')
      t.notMatch(text, /query=1|the-session|secret-page/)
      t.notOk(text.includes(plain.split('|')[1] ?? '|'))
      t.match(batch, { missed: 761 })
      t.equal(batch?.decisions.length, 251)
    }
    t.match((await svc.plan({ guard: { rules } }, '--replay=1h')).replay, { missing: 761, decisions: 251 })
    for await (const batch of batchesSince(svc.database, ['another-secret-that-is-32-bytes-long'], 0))
      t.equal(batch, null)
    svc.clock.advance(3_600_001)
    for (const job of decisionLogFeature.jobs(svc.app)) await job.run()
    t.equal(await svc.database.prisma.decisionBatch.count(), 0)
  },
)

t.test('keeps answering when the decisions cannot be written', async (t) => {
  const svc = await buildPlanned(t, { server, guard: { rules } })
  await svc.database.prisma.$executeRawUnsafe('ALTER TABLE decision_batches RENAME TO away')
  t.equal((await ask(svc, '/public/a')).statusCode, 200)
  await svc.flush()
  await svc.database.prisma.$executeRawUnsafe('ALTER TABLE away RENAME TO decision_batches')
  await svc.flush()
  t.match((await svc.plan({ guard: { rules } }, '--replay=1h')).replay, { decisions: 0, missing: 1 })
})
