import { createRequire } from 'node:module'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { createValidate, digest } from '../generated/config-validator.ts'
import { type Breach, explain } from './explain.ts'
import type { Finding, Path } from './findings.ts'
import { formatTests } from './format-tests.ts'
import { digestOf } from './schema-digest.ts'
import { toMilliseconds } from './units.ts'
import { childSchema, isMapping, mapValue, type Schema, typesOf } from './walk.ts'

interface Validated {
  /** The value with defaults, and with invalid parts replaced so that further checks can run. */
  value: unknown
  findings: Finding[]
}

/** Creates a validator that returns all schema violations. */
export async function createValidator(schema: Schema): Promise<(value: unknown) => Validated> {
  const validate = await validateFunctionOf(schema)
  return (value) => {
    const root = { value: structuredClone(value) }
    const findings: Finding[] = []
    if (!validate(root.value)) {
      const errors = located(validate.errors ?? [], root.value)
      findings.push(...explain(errors, schema))
      for (const error of errors) repair(root, error, schema)
      // Validates again, which fills in the defaults of the replaced parts.
      validate(root.value)
      root.value = mapValue(root.value, schema, withoutFiles)
    }
    return { value: root.value, findings }
  }
}

/**
 * Returns the generated function if it belongs to this schema. During development, before `npm run config:schema`, the
 * schema is compiled.
 */
async function validateFunctionOf(schema: Schema): Promise<ValidateFunction> {
  if (digest === digestOf(schema)) {
    return createValidate({ formats: formatTests, toMilliseconds, require: createRequire(import.meta.url) })
  }
  const { compileSchema } = await import('./compile-schema.ts')
  return compileSchema(schema, { optimize: false }).validate
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

/** A mapping that remains in place of text is an invalid `{ file: … }`. */
function withoutFiles(value: unknown, schema: Schema): unknown {
  return schema['x-svc-fileable'] && isMapping(value) ? neutral(schema) : value
}

/** A harmless value of the expected type. */
function neutral(schema: Schema | undefined): unknown {
  if (!schema) return undefined
  // No rule matches an empty string, so only the invalid choice is reported.
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
