import { isDeepStrictEqual } from 'node:util'
import { convertUnits } from './convert.ts'
import { type Path, printed } from './findings.ts'
import { rootSchema, type Settings } from './schema.ts'
import { durationText, off, type Rate, rateText } from './units.ts'
import { childSchema, isMapping, type Schema, typesOf } from './walk.ts'

/** One changed key, or an added or removed client, provider or other named entry. */
export interface Change {
  path: Path
  /** Printed path. Clients appear by client_id. */
  key: string
  what: 'added' | 'removed' | 'changed'
  reload: 'live' | 'restart'
  /** The two values; null for secrets and groups. */
  shown: { before: string; after: string } | null
  /** The same two as values, with the schema of both; null for secrets. Undefined for a value that one lacks. */
  values: { before: unknown; after: unknown; schema: Schema } | null
}

/** Returns all differences between two configurations, in schema order. */
export function changesBetween(before: Settings, after: Settings): Change[] {
  return changesIn({ before, after, schema: rootSchema, path: [], reload: 'live' })
}

/** The same value in both configurations. */
interface Pair {
  before: unknown
  after: unknown
  schema: Schema
  path: Path
  /** Inherited from the enclosing section. */
  reload: Change['reload']
}

function changesIn({ before, after, schema, path, reload: above }: Pair): Change[] {
  const reload = hasNewCredentials(before, after, schema) ? 'live' : (schema['x-svc-reload'] ?? above)
  const [old, next] = [entriesOf(before, schema), entriesOf(after, schema)]
  if (old && next) {
    const names = [...new Set([...Object.keys(schema.properties ?? {}), ...Object.keys(next), ...Object.keys(old)])]
    return names.flatMap((name) => {
      const child = schema.items ?? childSchema(schema, name) ?? {}
      const [before, after] = [own(old, name), own(next, name)]
      return changesIn({ before, after, schema: child, path: [...path, name], reload })
    })
  }
  const known = before === undefined ? defaultOf(schema) : before
  if (isDeepStrictEqual(known, after)) return []
  const what = known === undefined ? 'added' : after === undefined ? 'removed' : 'changed'
  const isShown = what === 'changed' && !holdsSecret(schema) && schema.properties === undefined
  const shown = isShown ? { before: textOf(known, schema), after: textOf(after, schema) } : null
  const values = holdsSecret(schema) ? null : { before: known, after, schema }
  return [{ path, key: printed(path), what, reload, shown, values }]
}

const own = (entries: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(entries, name) ? entries[name] : undefined

/** Children compared by name; clients are compared by client_id. Undefined for plain values. */
function entriesOf(value: unknown, schema: Schema): Record<string, unknown> | undefined {
  if (schema['x-svc-fileable']) return undefined
  if (Array.isArray(value) && schema.items?.properties?.client_id) {
    return Object.fromEntries(value.map((client) => [client.client_id, client]))
  }
  return isMapping(value) && (schema.properties || schema.patternProperties) ? value : undefined
}

/** Default of a key that a configuration from another version lacks. */
const defaultOf = (schema: Schema): unknown =>
  'default' in schema ? convertUnits(structuredClone(schema.default), schema) : undefined

/** Returns the settings of another version with the defaults of the keys that it lacks. */
export const withDefaults = (settings: Settings): Settings =>
  // Sound: every key of the schema then has a value, and values stay as they are.
  completed(settings, rootSchema) as Settings

function completed(value: unknown, schema: Schema): unknown {
  const given = value === undefined ? defaultOf(schema) : value
  const { items, patternProperties } = schema
  if (Array.isArray(given) && items) return given.map((one) => completed(one, items))
  const [each] = Object.values(patternProperties ?? {})
  if (each && isMapping(given))
    return Object.fromEntries(Object.entries(given).map(([name, one]) => [name, completed(one, each)]))
  if (!schema.properties || schema['x-svc-fileable'] || !isMapping(given)) return given
  const parts = Object.entries(schema.properties).map(([name, child]) => [name, completed(given[name], child)] as const)
  return { ...given, ...Object.fromEntries(parts.filter(([, part]) => part !== undefined)) }
}

/** Tests whether a value of the schema contains a secret. */
export function holdsSecret(schema: Schema): boolean {
  const parts = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])]
  return schema['x-svc-secret'] === true || parts.some(holdsSecret)
}

/** Formats a value as in the file. */
export function textOf(value: unknown, schema: Schema): string {
  if (value === null) return 'null'
  if (schema['x-svc-off'] && value === 0) return off
  if (schema['x-svc-kind'] === 'duration') return durationText(Number(value))
  // Sound: the schema allows only rates here.
  if (schema['x-svc-kind'] === 'rate') return rateText(value as Rate)
  return typesOf(schema).includes('string') && typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns the next settings, except keys that need a restart, which keep their running values. */
export function withoutRestart(running: Settings, next: Settings): Settings {
  // Sound: both arguments are settings, and `kept` copies each value unchanged from one of them.
  return kept(running, next, rootSchema) as Settings
}

/** Whether two URLs differ only in user and password, which new connections use without a restart. */
function hasNewCredentials(before: unknown, after: unknown, schema: Schema): boolean {
  if (!schema['x-svc-url'] || typeof before !== 'string' || typeof after !== 'string' || before === after) return false
  const [old, next] = [URL.parse(before), URL.parse(after)]
  for (const url of [old, next]) if (url) Object.assign(url, { username: '', password: '' })
  return old !== null && next !== null && old.host !== '' && old.href === next.href
}

function kept(running: unknown, next: unknown, schema: Schema): unknown {
  if (schema['x-svc-reload'] === 'restart') return hasNewCredentials(running, next, schema) ? next : running
  if (!schema.properties || !isMapping(running) || !isMapping(next) || schema['x-svc-fileable']) return next
  return Object.fromEntries(
    Object.entries(next).map(([key, value]) => [key, kept(running[key], value, schema.properties?.[key] ?? {})]),
  )
}
