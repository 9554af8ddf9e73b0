// Started as a process of its own: opens the database given, writes the number of tasks given, some in transactions.
import { openDatabase } from '../../src/database/database.ts'
import { testEngine } from '../support/postgresql.ts'

const [url = '', writes = '0'] = process.argv.slice(2)
const applied: object[] = []
const logger = {
  info: (fields: object) => void applied.push(fields),
  warn: () => {},
}
const database = await openDatabase({ engine: testEngine, url, logger })
for (let n = 0; n < Number(writes); n++) {
  await database.transaction(async (tx) => {
    const count = await tx.sampleTask.count()
    await tx.sampleTask.create({
      data: { title: `${process.pid}: ${n} after ${count}` },
    })
  })
  await database.prisma.sampleTask.create({
    data: { title: `${process.pid}: ${n} alone` },
  })
}
await database.close()
process.stdout.write(JSON.stringify(applied))
