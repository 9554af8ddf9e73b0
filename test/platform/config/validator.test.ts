// engine: none
import { createRequire } from 'node:module'
import t from 'tap'
import { parse } from 'yaml'
import { compileSchema } from '../../../src/platform/config/compile-schema.ts'
import { formatTests } from '../../../src/platform/config/format-tests.ts'
import { rootSchema } from '../../../src/platform/config/schema.ts'
import { digestOf } from '../../../src/platform/config/schema-digest.ts'
import { toMilliseconds } from '../../../src/platform/config/units.ts'
import { createValidator } from '../../../src/platform/config/validate.ts'
import { isMapping } from '../../../src/platform/config/walk.ts'
import { createValidate, digest } from '../../../src/platform/generated/config-validator.ts'
import { read } from '../../support/sources.ts'

const full: unknown = parse(read('config/examples', 'full.yaml'))
const wrong = [null, {}, [], '', 'no such value', -1, '999999d']

/** Copies of a value in which one part is replaced. */
function* changed(value: unknown): Generator<unknown> {
  yield* wrong
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) for (const part of changed(item)) yield value.with(index, part)
  } else if (isMapping(value)) {
    yield { ...value, no_such_key: 1 }
    for (const [key, item] of Object.entries(value)) for (const part of changed(item)) yield { ...value, [key]: part }
  }
}

t.test('the generated validator belongs to the schema', async (t) => {
  t.equal(digest, digestOf(rootSchema), 'run npm run config:schema')
})

t.test('the generated validator reports what the compiled schema reports', async (t) => {
  const require = createRequire(import.meta.url)
  const generated = createValidate({ formats: formatTests, toMilliseconds, require })
  const { validate: compiled } = compileSchema(rootSchema, { optimize: false })
  const different: unknown[] = []
  let count = 0
  for (const value of changed(full)) {
    const [first, second] = [structuredClone(value), structuredClone(value)]
    const results = [generated(first), compiled(second)]
    const errors = [JSON.stringify(generated.errors), JSON.stringify(compiled.errors)]
    // Both also fill in the defaults.
    const isSame =
      results[0] === results[1] && errors[0] === errors[1] && JSON.stringify(first) === JSON.stringify(second)
    if (!isSame) different.push(value)
    count += 1
  }
  t.ok(count > 2_000, `${count} values`)
  t.strictSame(different.slice(0, 3), [])
})

t.test('compiles a schema without a generated validator', async (t) => {
  const validate = await createValidator({ type: 'object', properties: { size: { type: 'integer', default: 3 } } })
  t.strictSame(validate({}).value, { size: 3 })
  t.match(validate({ size: 'large' }).findings, [{ path: ['size'] }])
})
