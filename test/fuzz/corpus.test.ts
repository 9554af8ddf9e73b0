// engine: none
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { targets } from './run.ts'
import * as parsers from './targets.ts'

const corpus = join(import.meta.dirname, 'corpus')

t.test('has inputs for each parser, and a parser for each folder of inputs', async (t) => {
  t.same(readdirSync(corpus).toSorted(), targets)
})

for (const target of targets) {
  t.test(`withstands the known inputs: ${target}`, async (t) => {
    const names = readdirSync(join(corpus, target))
    // biome-ignore lint/performance/noDynamicNamespaceImportAccess: nothing bundles a test.
    for (const name of names) await parsers[target](readFileSync(join(corpus, target, name)))
    t.ok(names.length > 0, `${names.length} inputs`)
  })
}
