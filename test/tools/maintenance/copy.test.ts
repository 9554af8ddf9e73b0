// engine: postgresql
import { statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { resolveDatabase } from '../../../src/platform/config/resolve.ts'
import { type CopiedTable, copyDatabase } from '../../../src/platform/database/copy/copy.ts'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { createTestDatabase } from '../../support/postgresql.ts'
import { runCli, temporaryDirectory } from '../../support/process.ts'
import { allRows, type Credentials, fillTables, issueCredentials, settings, useCredentials } from './credentials.ts'

interface Source {
  svc: TestApp
  issued: Credentials
  rows: Map<string, string[]>
  cwd: string
}

/** An svc whose database has rows of every model. */
async function filledSource(t: Test): Promise<Source> {
  const svc = await buildTestApp(t, { settings })
  const issued = await issueCredentials(svc)
  const gone = await svc.createUser({ email: 'gone@example.com' })
  await fillTables(svc, issued.owner)
  await svc.database.prisma.user.delete({ where: { id: BigInt(gone.id) } })
  return { svc, issued, rows: await allRows(t, svc.database), cwd: temporaryDirectory(t) }
}

const byName = (report: CopiedTable[]) => report.toSorted((a, b) => a.table.localeCompare(b.table))

/** The place that a URL names. */
const placeOf = (url: string) => resolveDatabase(url, '/')

t.test('copies every table between both engines, and every credential works on the copies', async (t) => {
  const { svc, issued, rows, cwd } = await filledSource(t)
  const [second, third] = [await createTestDatabase({ bare: true }), await createTestDatabase({ bare: true })]
  t.teardown(() => Promise.all([second.drop(), third.drop()]))
  const file = (name: string) => `file:${join(cwd, name)}`
  // While svc runs on the first one.
  const steps = [svc.where.url, file('a.db'), file('b.db'), second.url, third.url]
  const reports: CopiedTable[][] = []
  for (const [at, to] of steps.slice(1).entries())
    reports.push(await copyDatabase(placeOf(steps[at] ?? ''), placeOf(to), () => undefined))
  t.match(reports[0], [{ table: String, rows: Number, checksum: /^[0-9a-f]{64}$/ }])
  for (const report of reports) t.same(byName(report), byName(reports[0] ?? []), 'each copy has the same checksums')
  t.equal(statSync(join(cwd, 'a.db')).mode & 0o777, 0o600)

  for (const url of [file('b.db'), third.url]) {
    const where = url.startsWith('file:') ? { url, file: url.slice('file:'.length) } : { url }
    const engine = url.startsWith('file:') ? 'sqlite' : 'postgresql'
    const reader = await openDatabase({ engine, url })
    const copied = await allRows(t, reader)
    await reader.close()
    for (const [model, texts] of rows) t.same(copied.get(model), texts, `${model} on ${engine}`)
    const there = await buildTestApp(t, { settings, database: where, clock: svc.clock })
    await useCredentials(t, there, issued)
    const next = await there.createUser()
    t.ok(next.id > issued.owner + 1, 'the id of a deleted user is not given again')
  }
})

t.test('copies one consistent state of a database that changes meanwhile, in batches', async (t) => {
  const svc = await buildTestApp(t)
  const cwd = temporaryDirectory(t)
  const tasks = Array.from({ length: 2_500 }, (_, n) => ({ title: `task ${n}` }))
  await svc.createUser({ email: 'ada@example.com' })
  await svc.database.prisma.sampleTask.createMany({ data: tasks })
  const change = async (url: string) => {
    const database = await openDatabase({ engine: url.startsWith('file:') ? 'sqlite' : 'postgresql', url })
    await database.prisma.sampleTask.create({ data: { title: 'meanwhile' } })
    await database.prisma.user.updateMany({ data: { name: 'Changed' } })
    await database.close()
  }
  let from = svc.where.url
  for (const name of ['a.db', 'b.db']) {
    const to = `file:${join(cwd, name)}`
    const seen: string[] = []
    const copied = await copyDatabase(placeOf(from), placeOf(to), async (...progress) => {
      if (seen.push(progress.join(' ')) === 1) await change(from)
    })
    t.same(
      seen.filter((line) => line.startsWith('sample_tasks')),
      [1_000, 2_000, 2_500].map((rows) => `sample_tasks ${rows} 2500`),
    )
    t.match(
      copied.find(({ table }) => table === 'sample_tasks'),
      { rows: 2_500 },
    )
    const reader = await openDatabase({ engine: 'sqlite', url: to })
    t.not((await reader.prisma.user.findFirstOrThrow()).name, 'Changed')
    await reader.close()
    from = to
  }
})

t.test('prints progress without credentials, and refuses a target that is not empty', async (t) => {
  const svc = await buildTestApp(t)
  await svc.database.prisma.sampleTask.create({ data: { title: 'one' } })
  const cwd = temporaryDirectory(t)
  const to = `file:${join(cwd, 'svc.db')}`
  const env = { PGPASSWORD: 'hunter2' }
  const first = await runCli(['svc:db:copy', svc.where.url.replace('postgres@', 'postgres:hunter2@'), to], { cwd, env })
  t.equal(first.code, 0, first.stderr)
  t.notMatch(first.stderr + first.stdout, 'hunter2')
  t.match(first.stderr, /^sample_tasks: 1 of 1 rows$/m)
  const back = await runCli(['db:copy', to, svc.where.url], { cwd })
  t.match(back, {
    code: 1,
    stdout: '',
    stderr: /^The target database cannot be used: it is not empty\. Table \w+ has \d+ rows\.\n$/,
  })
  t.equal(await svc.database.prisma.sampleTask.count(), 1)
})
