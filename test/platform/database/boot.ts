// Runs as a separate process: opens the given database and writes the given number of tasks, some in transactions.
import { openDatabase } from '../../../src/platform/database/database.ts'
import { testEngine } from '../../support/postgresql.ts'

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
