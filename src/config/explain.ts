import type { ErrorObject } from 'ajv'
import { type Finding, type Path, pointer, printed } from './findings.ts'
import { nearest } from './nearest.ts'
import { childSchema, isMapping, type Schema, typesOf } from './walk.ts'

/** A breach of the schema, with the path of the value that breaks it. */
export interface Breach {
  path: Path
  error: ErrorObject
}

/** Says each breach in words: what was expected and, unless it is a secret, what was found. */
export function explain(breaches: readonly Breach[], root: Schema): Finding[] {
  const findings = breaches.map(({ path, error }) => ({ path, message: messageOf(path, error, root) }))
  // One value may break several rules of its schema; the expectation names them all.
  return [...new Map(findings.map((finding) => [pointer(finding.path), finding])).values()]
}

function messageOf(path: Path, error: ErrorObject, root: Schema): string {
  const schema = error.parentSchema as Schema
  const key = String(path.at(-1))
  if (error.keyword === 'additionalProperties') return unknownKey(key, schema, root)
  if (error.keyword === 'required') return `is required: ${expectation(childSchema(schema, key) ?? {})}`
  if (error.keyword === 'minItems') return 'must have at least one entry'
  if (error.keyword === 'maxItems') return `must have at most ${error.params.limit} entries`
  return `must be ${expectation(schema)}${found(error.data, schema)}`
}

function unknownKey(key: string, schema: Schema, root: Schema): string {
  if (!schema.properties) return `is not a name that can stand here: it must be ${schema['x-svc-names']}`
  const similar = nearest(key, Object.keys(schema.properties))
  if (similar) return `is not a known key; did you mean ${similar}?`
  const [elsewhere, ...more] = pathsNamed(key, root)
  if (elsewhere && more.length === 0) return `is not a known key here; did you mean ${printed(elsewhere)}?`
  return 'is not a known key'
}

/** Where else in the sections a key of this name exists. */
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
  if (type === 'object') return 'a mapping of keys to values'
  const { minimum, maximum, maxLength } = schema
  if (type === 'integer') {
    return maximum === undefined ? `a whole number, ${minimum} or more` : `a whole number from ${minimum} to ${maximum}`
  }
  return `text${maxLength === undefined ? ' that is not empty' : ` of 1 to ${maxLength} characters`}${orNull}`
}

/** What stood there: never a secret, and never a value in the place of a group, which might hold one. */
function found(data: unknown, schema: Schema): string {
  if (Array.isArray(data)) return ' (found a list)'
  if (isMapping(data)) return ' (found a mapping)'
  if (schema['x-svc-secret']) return ''
  if (typesOf(schema).some((type) => type === 'array' || type === 'object')) {
    return data === null ? ' (found null)' : ` (found ${typeof data === 'string' ? 'text' : `a ${typeof data}`})`
  }
  return ` (found ${JSON.stringify(data)})`
}
