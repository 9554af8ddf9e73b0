import { holdsSecret, textOf } from './changes.ts'
import { type Path, printed } from './findings.ts'
import type { Loaded } from './load.ts'
import { type Config, rootSchema } from './schema.ts'
import type { ShownValue } from './shown-value.ts'
import { childSchema, isMapping, type Schema } from './walk.ts'

/** Returns all values in the order of the schema, without secrets. */
export function shownValues({ settings, originOf }: Pick<Loaded, 'settings' | 'originOf'>): ShownValue[] {
  return valuesIn(settings, rootSchema, [], originOf)
}

/** Returns the same later, for the admin pages. Without them, the parsed files need not stay in memory. */
export const shownLater = (
  { admin }: Pick<Config, 'admin'>,
  loaded: Pick<Loaded, 'settings' | 'originOf'>,
): (() => ShownValue[]) => (admin.pages ? () => shownValues(loaded) : () => [])

function valuesIn(value: unknown, schema: Schema, path: Path, originOf: Loaded['originOf']): ShownValue[] {
  const below = childrenOf(value, schema)
  if (below) return below.flatMap(([step, child, inner]) => valuesIn(child, inner, [...path, step], originOf))
  const origin = originOf(path)
  const hasValue = value !== null && !(Array.isArray(value) && value.length === 0)
  const isUrl = schema['x-svc-url'] === true && typeof value === 'string'
  const isSecret = holdsSecret(schema) && hasValue && !isUrl
  const shown = isSecret ? null : isUrl ? withoutCredentials(value) : spelled(value, schema)
  const common = { key: printed(path), value: shown, isSecret, file: null, line: null, variable: null }
  if (!origin) return [{ ...common, source: 'default' }]
  if ('variable' in origin) return [{ ...common, source: 'environment', variable: origin.variable }]
  const { file, line, usesEnvironment } = origin
  return [{ ...common, source: 'file', file, line, variable: usesEnvironment || null }]
}

/** The values inside a value; undefined if it is shown as a whole. */
function childrenOf(value: unknown, schema: Schema): [string | number, unknown, Schema][] | undefined {
  if (schema['x-svc-fileable'] || schema['x-svc-kind'] || schema.additionalProperties === true) return undefined
  const { items } = schema
  if (Array.isArray(value)) {
    const isOpen = !items?.properties || items['x-svc-fileable'] || items.additionalProperties === true
    return isOpen || value.length === 0 ? undefined : value.map((item, index) => [index, item, items])
  }
  if (!isMapping(value) || Object.keys(value).length === 0) return undefined
  const known = Object.keys(schema.properties ?? {})
  const keys = [
    ...known.filter((key) => Object.hasOwn(value, key)),
    ...Object.keys(value).filter((key) => !known.includes(key)),
  ]
  return keys.map((key) => [key, value[key], childSchema(schema, key) ?? {}])
}

/** Durations and limits as in the file, other values as they are. */
const spelled = (value: unknown, schema: Schema): unknown =>
  value !== null && schema['x-svc-kind'] ? textOf(value, schema) : value

/** Passwords may also be in the query, and tokens in the path of a receiver of webhooks. */
function withoutCredentials(text: string): string {
  const url = URL.parse(text)
  if (!url || url.host === '') return /^(file|log):/.test(text) ? text : '(hidden)'
  const path = /^https?:$/.test(url.protocol) && url.pathname !== '/' ? '/…' : url.pathname
  return `${url.protocol}//${url.host}${path}`
}
