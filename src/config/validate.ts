import { Ajv, type ErrorObject } from 'ajv'
import { type Breach, explain } from './explain.ts'
import type { Finding, Path } from './findings.ts'
import { formats } from './formats.ts'
import { childSchema, isMapping, mapValue, type Schema, typesOf } from './walk.ts'

interface Validated {
  /** The value with every default filled in and everything invalid replaced, so that further checks can go on. */
  value: unknown
  findings: Finding[]
}

/** Checks a value against the schema and tells everything wrong with it. */
export function createValidator(schema: Schema): (value: unknown) => Validated {
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    verbose: true,
    strict: true,
    allowUnionTypes: true,
    // Checking the schema against the meta-schema takes as long as compiling it, on every start.
    validateSchema: false,
    meta: false,
  })
  for (const word of ['kind', 'secret', 'fileable', 'expected', 'names', 'reload']) ajv.addKeyword(`x-svc-${word}`)
  for (const [name, { matches }] of Object.entries(formats)) ajv.addFormat(name, matches)
  const validate = ajv.compile(schema)
  return (value) => {
    const root = { value: structuredClone(value) }
    const findings: Finding[] = []
    if (!validate(root.value)) {
      const errors = located(validate.errors ?? [], root.value)
      findings.push(...explain(errors, schema))
      for (const error of errors) repair(root, error, schema)
      // Fills the defaults of what was replaced.
      validate(root.value)
      root.value = mapValue(root.value, schema, withoutFiles)
    }
    return { value: root.value, findings }
  }
}

function located(errors: readonly ErrorObject[], value: unknown): Breach[] {
  return errors.map((error) => {
    const path = pathOf(error.instancePath, value)
    const { missingProperty, additionalProperty } = error.params as Record<string, string | undefined>
    const last = missingProperty ?? additionalProperty
    return { path: last === undefined ? path : [...path, last], error }
  })
}

function pathOf(instancePath: string, root: unknown): Path {
  let value = root
  return instancePath
    .split('/')
    .slice(1)
    .map((step) => {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
      const isIndex = Array.isArray(value)
      value = (value as Record<string, unknown>)[key]
      return isIndex ? Number(key) : key
    })
}

function repair(root: { value: unknown }, { path, error }: Breach, schema: Schema): void {
  const parent = path
    .slice(0, -1)
    .reduce<unknown>((value, step) => (value as Record<string, unknown>)?.[step], root.value)
  const last = path.at(-1)
  if (last === undefined) root.value = {}
  else if (!isMapping(parent) && !Array.isArray(parent)) return
  else if (error.keyword === 'additionalProperties') delete (parent as Record<string, unknown>)[last]
  else (parent as Record<string, unknown>)[last] = neutral(path.reduce<Schema | undefined>(step, schema))
}

function step(schema: Schema | undefined, key: string | number): Schema | undefined {
  return schema && childSchema(schema, key)
}

/** A mapping that still stands in the place of a text is no proper `{ file: … }`. */
function withoutFiles(value: unknown, schema: Schema): unknown {
  return schema['x-svc-fileable'] && isMapping(value) ? neutral(schema) : value
}

/** A harmless value of the right type. */
function neutral(schema: Schema | undefined): unknown {
  if (!schema) return undefined
  // Nothing that any rule looks for, so that a mistyped choice is told as just that.
  if (schema.enum?.every((value) => typeof value === 'string')) return ''
  if ('default' in schema) return structuredClone(schema.default)
  if (schema['x-svc-kind'] === 'duration') return '1s'
  const types = typesOf(schema)
  if (types.includes('string')) return ''
  if (types.includes('integer')) return 1
  if (types.includes('boolean')) return false
  if (types.includes('array')) return []
  return Object.fromEntries((schema.required ?? []).map((key) => [key, neutral(schema.properties?.[key])]))
}
