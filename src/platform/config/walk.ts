import type { Path } from './findings.ts'
import type { DurationUnit } from './units.ts'

/** The subset of JSON Schema that the configuration uses. */
export interface Schema {
  type?: string | string[]
  default?: unknown
  enum?: unknown[]
  description?: string
  examples?: unknown[]
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  items?: Schema
  required?: string[]
  minimum?: number
  maximum?: number
  maxLength?: number
  'x-svc-kind'?: 'duration' | 'rate'
  /** A duration that can be off. */
  'x-svc-off'?: boolean
  'x-svc-secret'?: boolean
  /** A URL with credentials. */
  'x-svc-url'?: boolean
  additionalProperties?: boolean
  'x-svc-fileable'?: boolean
  'x-svc-expected'?: string
  'x-svc-names'?: string
  'x-svc-entries'?: { about?: string; value: object }[]
  'x-svc-reload'?: 'live' | 'restart'
  /** Maximum of a duration, in milliseconds. */
  'x-svc-max'?: number
  /** Unit of a number in place of a duration. */
  'x-svc-unit'?: DurationUnit
}

/** Tests for a mapping. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the types that a schema accepts. */
export function typesOf(schema: Schema): string[] {
  return [schema.type ?? []].flat()
}

/** Returns the schema of a child value. */
export function childSchema(schema: Schema, step: string | number): Schema | undefined {
  if (typeof step === 'number') return schema.items
  if (schema.properties && Object.hasOwn(schema.properties, step)) return schema.properties[step]
  const named = Object.entries(schema.patternProperties ?? {}).find(([pattern]) => new RegExp(pattern, 'u').test(step))
  return named?.[1]
}

/** Rebuilds a value top-down; `change` returns the replacement of each part. */
export function mapValue(
  value: unknown,
  schema: Schema | undefined,
  change: (value: unknown, schema: Schema, path: Path) => unknown,
  path: Path = [],
): unknown {
  if (!schema) return value
  const changed = change(value, schema, path)
  if (Array.isArray(changed)) {
    return changed.map((item, index) => mapValue(item, schema.items, change, [...path, index]))
  }
  if (!isMapping(changed)) return changed
  const entries = Object.entries(changed).map(([key, item]) => {
    return [key, mapValue(item, childSchema(schema, key), change, [...path, key])]
  })
  return Object.fromEntries(entries)
}
