import { _, Ajv, type KeywordCxt, type Options, type ValidateFunction } from 'ajv'
import { formatTests } from './format-tests.ts'
import { toMilliseconds } from './units.ts'
import type { Schema } from './walk.ts'

/** Keywords that only describe a value. */
const notes = [
  'kind',
  'off',
  'secret',
  'url',
  'fileable',
  'expected',
  'names',
  'reload',
  'entries',
  'unit',
  'replacement',
]

/** Compiles a schema of configuration values. `code` sets Ajv's options for the compiled code. */
export function compileSchema(
  schema: Schema,
  code: NonNullable<Options['code']>,
): { ajv: Ajv; validate: ValidateFunction } {
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    verbose: true,
    // `explain` writes its own.
    messages: false,
    strict: true,
    allowUnionTypes: true,
    validateSchema: false,
    meta: false,
    code,
  })
  for (const note of notes) ajv.addKeyword(`x-svc-${note}`)
  ajv.addKeyword({ keyword: 'x-svc-max', type: 'string', schemaType: 'number', code: maximumCode })
  for (const [name, matches] of Object.entries(formatTests)) ajv.addFormat(name, matches)
  return { ajv, validate: ajv.compile(schema) }
}

/** Code for the maximum of a duration, in milliseconds. The generated validator receives `toMilliseconds` as a parameter. */
function maximumCode(context: KeywordCxt): void {
  const convert = context.gen.scopeValue('func', { ref: toMilliseconds, code: _`toMilliseconds` })
  context.fail(_`${convert}(${context.data}) > ${context.schema}`)
}
