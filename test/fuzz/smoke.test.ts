// lane: all
// engine: none
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bundleTargets, fuzz } from './run.ts'
import { fuzzer } from './tools.ts'

const skip = !process.env.CI && !fuzzer() && 'npm run fuzz:tools'

/** Some of the parsers. Each takes twenty seconds, most of them until the fuzzer has instrumented the code. */
const chosen = ['guard', 'scim', 'yaml'] as const

t.test('withstands a few seconds of new inputs', { skip, timeout: 600_000 }, async (t) => {
  // Beside the packages, so that the bundle finds those that it does not contain.
  const folder = mkdtempSync(join(import.meta.dirname, '../../.tap/fuzz-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const bundle = await bundleTargets(folder)
  for (const target of chosen) {
    const corpus = join(import.meta.dirname, 'corpus', target)
    const before = readdirSync(corpus)
    const { code, output } = await fuzz(bundle, target, { seconds: 4, found: join(folder, target) })
    t.equal(code, 0, `${target}: ${output.slice(-2_000)}`)
    t.match(output, /DONE\s+cov: [1-9]\d/, `${target} reaches branches`)
    t.same(readdirSync(corpus), before, `${target}: no input breaks it`)
  }
})
