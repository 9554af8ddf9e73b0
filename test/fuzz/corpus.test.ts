// engine: none
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import * as targets from './targets.ts'

const corpus = join(import.meta.dirname, 'corpus')

t.test('has inputs for each parser, and a parser for each folder of inputs', async (t) => {
  t.same(readdirSync(corpus).toSorted(), Object.keys(targets).toSorted())
})

for (const [name, target] of Object.entries(targets)) {
  t.test(`${name}: withstands the known inputs`, async (t) => {
    const files = readdirSync(join(corpus, name))
    for (const file of files) await target(readFileSync(join(corpus, name, file)))
    t.ok(files.length > 0, `${files.length} inputs`)
  })
}
