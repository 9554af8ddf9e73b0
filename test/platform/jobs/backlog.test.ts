// engine: postgresql
import pg from 'pg'
import t from 'tap'
import { recordStatements, rowsReadBy } from '../../scale/statements.ts'
import { buildTestApp } from '../../support/app.ts'
import { recordRoundTrips } from '../../support/round-trips.ts'

t.test('reads a bounded number of rows for each job, without statistics of the table', async (t) => {
  const recorded = recordStatements()
  t.teardown(() => void recorded())
  const svc = await buildTestApp(t)
  const client = new pg.Client({ connectionString: svc.where.url })
  await client.connect()
  t.teardown(() => client.end())
  // PostgreSQL has no statistics of a table that was empty at its last analysis.
  await client.query('ALTER TABLE outbox SET (autovacuum_enabled = false)')
  await svc.database.transaction((tx) => svc.app.outbox.add(tx, 'test', {}))
  const columns = 'kind, payload, available_at, created_at'
  const copy = `INSERT INTO outbox (${columns}) SELECT ${columns} FROM outbox, generate_series(1, 1200) ORDER BY id LIMIT 1199`
  await client.query(copy)
  let jobs = 0
  svc.app.outbox.handle('test', async () => void jobs++)
  await svc.app.outbox.deliverDue()
  t.equal(jobs, 1_200)

  await svc.database.transaction((tx) => svc.app.outbox.add(tx, 'test', {}))
  await client.query(copy)
  const statements = recorded().filter(({ text }) => /outbox/.test(text))
  const search = statements.filter(({ text }) => /LIMIT 50/.test(text))
  t.ok(search.length > 0, 'a search finds many jobs')
  const perJob = statements.filter((statement) => !search.includes(statement) && !/^\s*INSERT/.test(statement.text))
  t.ok(perJob.length >= 2, 'claims a job and deletes it')
  for (const statement of perJob) {
    const read = await rowsReadBy(client, statement)
    t.ok(read <= 5, `reads ${read} rows: ${statement.text}`)
  }
})

t.test('claims and deletes several jobs with one statement', async (t) => {
  const svc = await buildTestApp(t)
  let jobs = 0
  svc.app.outbox.handle('test', async () => void jobs++)
  await svc.database.transaction(async (tx) => {
    for (let i = 0; i < 20; i++) await svc.app.outbox.add(tx, 'test', {})
  })
  const sent = await recordRoundTrips(t, () => true).during(() => svc.app.outbox.deliverDue())
  t.equal(jobs, 20)
  t.ok(sent.length <= 12, `${sent.length} statements for 20 jobs`)
})
