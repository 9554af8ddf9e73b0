import type { ErrorObject } from 'ajv'
import { type Finding, type Path, pointer, printed } from './findings.ts'
import { nearest } from './nearest.ts'
import { childSchema, isMapping, type Schema, typesOf } from './walk.ts'

/** A schema violation and the path of the invalid value. */
export interface Breach {
  path: Path
  error: ErrorObject
}

/** Describes each violation: what was expected and, unless it is a secret, what was found. */
export function explain(breaches: readonly Breach[], root: Schema): Finding[] {
  const findings = breaches.map(({ path, error }) => ({ path, message: messageOf(path, error, root) }))
  // A value can violate several rules of its schema; the expectation covers all of them.
  return [...new Map(findings.map((finding) => [pointer(finding.path), finding])).values()]
}

function messageOf(path: Path, error: ErrorObject, root: Schema): string {
  const schema = error.parentSchema as Schema
  const key = String(path.at(-1))
  if (error.keyword === 'additionalProperties') return unknownKey(path, schema, root)
  if (error.keyword === 'required') return `is required; expected ${expectation(childSchema(schema, key) ?? {})}`
  if (error.keyword === 'minItems') return 'must have at least one entry'
  if (error.keyword === 'maxItems') return `must have at most ${error.params.limit} entries`
  return `must be ${expectation(schema)}${found(error.data, schema)}`
}

/** Maximum number of known keys that an error lists. */
const MAX_LISTED = 12

function unknownKey(path: Path, schema: Schema, root: Schema): string {
  const key = String(path.at(-1))
  if (!schema.properties) return `is not a valid name here; expected ${schema['x-svc-names']}`
  const known = Object.entries(schema.properties)
  const names = known.map(([name]) => name)
  const nested = key.split('.')
  if (nested.length > 1 && nested.reduce<Schema | undefined>(namedChild, schema))
    return `is not a known key; write it as ${nested.join(': { ')}: …${' }'.repeat(nested.length - 1)}`
  const similar = nearest(key, names)
  if (similar) return `is not a known key; did you mean ${similar}?`
  const [elsewhere, ...more] = path.length > 2 ? [] : pathsNamed(key, root)
  if (elsewhere && more.length === 0) return `is not a known key here; did you mean ${printed(elsewhere)}?`
  if (names.length > MAX_LISTED) return 'is not a known key'
  return `is not a known key; expected ${names.length > 1 ? 'one of ' : ''}${names.join(', ')}`
}

const namedChild = (schema: Schema | undefined, name: string): Schema | undefined => schema?.properties?.[name]

/** Paths in other sections that have a key of this name. */
function pathsNamed(key: string, root: Schema): Path[] {
  const sections = Object.entries(root.properties ?? {}).filter(([, section]) => section.properties?.[key])
  return sections.map(([name]) => [name, key])
}

function expectation(schema: Schema): string {
  const orNull = typesOf(schema).includes('null') ? ', or null' : ''
  if (schema['x-svc-expected']) {
    return schema['x-svc-expected'].includes('null') ? schema['x-svc-expected'] : schema['x-svc-expected'] + orNull
  }
  if (schema.enum) return `one of ${schema.enum.map(String).join(', ')}`
  const [type] = typesOf(schema)
  if (type === 'boolean') return `true or false${orNull}`
  if (type === 'array') return `a list${orNull}`
  if (type === 'object') return 'a mapping'
  const { minimum, maximum, maxLength } = schema
  if (type === 'integer') {
    return maximum === undefined ? `an integer of at least ${minimum}` : `an integer from ${minimum} to ${maximum}`
  }
  return `${maxLength === undefined ? 'non-empty text' : `text of 1 to ${maxLength} characters`}${orNull}`
}

/** Describes the value without quoting secrets, or values in place of a group, which may contain secrets. */
function found(data: unknown, schema: Schema): string {
  const kind = Array.isArray(data) ? 'a list' : isMapping(data) ? 'a mapping' : null
  if (kind === null && schema['x-svc-secret']) return ''
  if (typesOf(schema).some((type) => type === 'array' || type === 'object')) {
    return ` (found ${kind ?? (data === null ? 'null' : typeof data === 'string' ? 'text' : `a ${typeof data}`)}${remedy(schema)})`
  }
  if (kind !== null) return ` (found ${kind})`
  // YAML reads 12 as a number and true as a flag, also where the schema expects a name.
  const isUnquoted = typeof data !== 'string' && data !== null && schema.type === 'string' && !schema['x-svc-expected']
  const shown = typeof data === 'string' ? data.replace(/:\/\/[^/?#]*@/, '://…@') : data
  return ` (found ${JSON.stringify(shown)}${isUnquoted ? '; put it in quotes' : ''})`
}

/** How to write a list or a mapping, unless the expectation says it. */
function remedy(schema: Schema): string {
  if (schema['x-svc-expected']) return ''
  if (typesOf(schema).includes('array')) return '; write it as [first, second]'
  return schema.properties?.enabled ? '; write it as { enabled: false }' : '; write it as { key: value }'
}
