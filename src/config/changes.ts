import { isDeepStrictEqual } from 'node:util'
import { convertUnits } from './convert.ts'
import { type Path, printed } from './findings.ts'
import { rootSchema, type Settings } from './schema.ts'
import { durationText, type Rate, rateText } from './units.ts'
import { childSchema, isMapping, type Schema, typesOf } from './walk.ts'

/** One key whose value differs, or a client, a provider or another named entry that is new or gone. */
export interface Change {
  path: Path
  /** The path as people write it; clients stand in it by their client_id. */
  key: string
  what: 'added' | 'removed' | 'changed'
  reload: 'live' | 'restart'
  /** The values; null where they may not be shown, or are no single value. */
  shown: { before: string; after: string } | null
}

/** Every key in which two configurations differ, in the order of the schema. */
export function changesBetween(before: Settings, after: Settings): Change[] {
  return changesIn({ before, after, schema: rootSchema, path: [], reload: 'live' })
}

/** A value of the file on both sides. */
interface Pair {
  before: unknown
  after: unknown
  schema: Schema
  path: Path
  /** What the keys above say of when a change counts. */
  reload: Change['reload']
}

function changesIn({ before, after, schema, path, reload: above }: Pair): Change[] {
  const reload = schema['x-svc-reload'] ?? above
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
  return [{ path, key: printed(path), what, reload, shown }]
}

const own = (entries: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(entries, name) ? entries[name] : undefined

/** What is compared by name: sections, entries and named values; clients by their client_id. Undefined for anything else. */
function entriesOf(value: unknown, schema: Schema): Record<string, unknown> | undefined {
  if (schema['x-svc-fileable']) return undefined
  if (Array.isArray(value) && schema.items?.properties?.client_id) {
    return Object.fromEntries(value.map((client) => [client.client_id, client]))
  }
  return isMapping(value) && (schema.properties || schema.patternProperties) ? value : undefined
}

/** What a key amounts to that a configuration of another version does not have. */
const defaultOf = (schema: Schema): unknown =>
  'default' in schema ? convertUnits(structuredClone(schema.default), schema) : undefined

function holdsSecret(schema: Schema): boolean {
  const parts = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])]
  return schema['x-svc-secret'] === true || parts.some(holdsSecret)
}

function textOf(value: unknown, schema: Schema): string {
  if (value === null) return 'null'
  if (schema['x-svc-kind'] === 'duration') return durationText(Number(value))
  // Sound: the schema lets nothing else stand there.
  if (schema['x-svc-kind'] === 'rate') return rateText(value as Rate)
  return typesOf(schema).includes('string') && typeof value === 'string' ? value : JSON.stringify(value)
}

/** The settings that count at once: the next ones, where a restart is needed those that are in force. */
export function withoutRestart(running: Settings, next: Settings): Settings {
  // Sound: both are settings, and a key is taken whole from one of them.
  return kept(running, next, rootSchema) as Settings
}

function kept(running: unknown, next: unknown, schema: Schema): unknown {
  if (schema['x-svc-reload'] === 'restart') return running
  if (!schema.properties || !isMapping(running) || !isMapping(next) || schema['x-svc-fileable']) return next
  return Object.fromEntries(
    Object.entries(next).map(([key, value]) => [key, kept(running[key], value, schema.properties?.[key] ?? {})]),
  )
}
