// engine: postgresql
import t from 'tap'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { statementNames } from '../../../src/platform/database/statement-names.ts'
import { createTestDatabase } from '../../support/postgresql.ts'

t.test('names inserts, the same text equally', async (t) => {
  const nameOf = statementNames()
  const insert = nameOf({ sql: 'INSERT INTO a (b) VALUES ($1)' })
  t.match(insert, /^[\w-]{43}$/)
  t.equal(nameOf({ sql: 'INSERT INTO a (b) VALUES ($1)' }), insert)
  t.not(nameOf({ sql: 'INSERT INTO a (c) VALUES ($1)' }), insert)
  t.ok(nameOf({ sql: '\n  WITH hit AS (INSERT INTO a (b) VALUES ($1)) SELECT 1' }))
})

t.test('leaves statements unnamed whose plan depends on the size of a table', async (t) => {
  const nameOf = statementNames()
  const removal = 'DELETE FROM a WHERE b = $1'
  const others = ['SELECT * FROM a', 'UPDATE a SET b = $1', removal, `WITH c AS (${removal}) SELECT 1`, 'BEGIN']
  for (const sql of others) t.equal(nameOf({ sql }), '', sql)
})

t.test('names a limited number of texts', async (t) => {
  const nameOf = statementNames(2)
  const names = [1, 2, 3, 1].map((count) => nameOf({ sql: `INSERT INTO a VALUES ${'($1)'.repeat(count)}` }))
  t.same(names.map(Boolean), [true, true, false, true])
})

t.test('prepares inserts once per connection, unless prepared statements are off', async (t) => {
  const place = await createTestDatabase()
  t.teardown(place.drop)
  const preparedBy = async (settings: { prepared_statements?: boolean }) => {
    const database = await openDatabase({ engine: 'postgresql', url: place.url, connections: 1, ...settings })
    const { prisma } = database
    for (const title of ['a', 'b']) {
      const { id } = await prisma.sampleTask.create({ data: { title } })
      await prisma.sampleTask.update({ where: { id }, data: { title: 'c' } })
    }
    const prepared = await prisma.$queryRaw<{ statement: string }[]>`SELECT statement FROM pg_prepared_statements`
    await database.close()
    return prepared.map(({ statement }) => statement.slice(0, 35))
  }
  t.same(await preparedBy({}), ['INSERT INTO "public"."sample_tasks"'])
  t.same(await preparedBy({ prepared_statements: false }), [])
})
