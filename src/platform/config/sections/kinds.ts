import { type Static, type TSchema, type TUnsafe, Type } from '../../json-schema.ts'
import { type FormatName, formats, type NamedFormat } from '../formats.ts'
import { type DurationUnit, type Rate, toMilliseconds } from '../units.ts'

/** Metadata of a key. Changes are live unless `reload` requires a restart. */
interface Key<Value> {
  description: string
  reload?: 'restart'
  default?: Value
  expected?: string
  /** Error messages do not quote the value. */
  hidden?: true
  /** Value that config/reference.yaml shows for a key whose default is null or missing. */
  example?: unknown
  /** Entries that config/reference.yaml shows below a list or mapping. */
  entries?: readonly ExampleEntry[]
}

export interface ExampleEntry {
  about?: string
  /** An item of a list, or one or more pairs of a mapping. */
  value: object
}

/** Maximum duration that the pattern allows. */
const maxDuration = '999999d'

/** Text, optionally limited by a format or a pattern. */
export function text({
  format,
  ...key
}: Key<string> & { format?: FormatName | NamedFormat; pattern?: string; minLength?: number; maxLength?: number }) {
  const named = typeof format === 'string' ? { name: format, ...formats[format] } : format
  const expected = key.expected ?? named?.expected
  return Type.String({
    minLength: 1,
    ...(named && { format: named.name }),
    ...annotated(key),
    ...(expected && { 'x-svc-expected': expected }),
  })
}

export function integer(key: Key<number> & { minimum: number; maximum?: number }) {
  return Type.Integer(annotated(key))
}

/** Number, or `auto`. */
export function countOrAuto(key: Key<number | 'auto'> & { minimum: number; maximum: number }) {
  return Type.Unsafe<number | 'auto'>({
    type: ['integer', 'string'],
    pattern: '^auto$',
    ...annotated({ ...key, expected: `an integer from ${key.minimum} to ${key.maximum}, or auto` }),
  })
}

export function flag(key: Key<boolean>) {
  return Type.Boolean(annotated(key))
}

export function choice<const Values extends (string | number | boolean)[]>(
  values: readonly [...Values],
  key: Key<Values[number]>,
) {
  const isText = values.every((value) => typeof value === 'string')
  const expected = isText ? {} : { expected: `${values.slice(0, -1).join(', ')} or ${values.at(-1)}` }
  return Type.Unsafe<Values[number]>({
    ...(isText ? { type: 'string' } : {}),
    enum: [...values],
    ...annotated({ ...expected, ...key }),
  })
}

interface DurationKey extends Key<string> {
  /** Accepts zero. */
  zero?: true
  max?: string
  /** Unit of plain numbers. */
  numberUnit?: DurationUnit
}

/** Duration such as `15m`; milliseconds in the snapshot. */
export function duration({ zero, max, numberUnit, ...key }: DurationKey) {
  const limit = toMilliseconds(max ?? maxDuration)
  return Type.Unsafe<number>({
    type: numberUnit ? ['string', 'integer'] : 'string',
    pattern: zero ? '^\\d{1,6}[smhd]$' : '^0*[1-9]\\d{0,5}[smhd]$',
    'x-svc-kind': 'duration',
    'x-svc-expected': `a duration such as 30s, 15m, 2h or 30d${zero ? '' : ', greater than zero'}${max ? `, at most ${max}` : ''}`,
    ...(max && { 'x-svc-max': limit }),
    ...(numberUnit && {
      'x-svc-unit': numberUnit,
      minimum: zero ? 0 : 1,
      maximum: limit / toMilliseconds(`1${numberUnit}`),
    }),
    ...annotated(key),
  })
}

/** Duration, or `off`; milliseconds in the snapshot, 0 for `off`. */
export function durationOrOff(key: Key<string>) {
  return Type.Unsafe<number>({
    type: ['string', 'boolean'],
    pattern: '^(off|0*[1-9]\\d{0,5}[smhd])$',
    not: { const: true },
    'x-svc-kind': 'duration',
    'x-svc-off': true,
    ...annotated({ ...key, expected: 'a duration such as 30s, 15m or 2h, or off' }),
  })
}

/** Rate such as `5/1m`; attempts and milliseconds in the snapshot, null for no limit. */
export function rate(key: Key<string | null>) {
  return Type.Unsafe<Rate | null>({
    type: ['string', 'null'],
    pattern: '^[1-9]\\d{0,8}/[1-9]\\d{0,5}[smhd]$',
    'x-svc-kind': 'rate',
    'x-svc-expected': 'a limit such as 5/1m (five per minute), or null for no limit',
    ...annotated(key),
  })
}

/** Secret text, also readable from a file. Error messages never quote it. */
export function secret(key: Omit<Key<string>, 'default'>) {
  return Type.Unsafe<string>({ ...fileable, ...annotated({ ...key, hidden: true }) })
}

/** URL that may contain a password, also readable from a file. Error messages never quote it. */
export function secretUrl(key: Key<string> & { format: FormatName }) {
  return Type.Unsafe<string>({
    ...fileable,
    'x-svc-url': true,
    ...annotated({ ...key, expected: formats[key.format].expected, hidden: true }),
  })
}

/** One secret or a list, newest first. */
export function secrets({ minItems, maxItems, ...key }: Key<string[]> & { minItems?: number; maxItems?: number }) {
  return Type.Unsafe<string | string[]>({
    ...fileable,
    ...(minItems !== undefined && { minItems }),
    ...(maxItems !== undefined && { maxItems }),
    type: ['string', 'array', 'object'],
    items: { ...fileable, 'x-svc-secret': true, 'x-svc-expected': 'text, or { file: <path> }' },
    ...annotated({ ...key, expected: 'text, { file: <path> } or a list of these', hidden: true }),
  })
}

/** One text or a list. */
export function textOrList({ pattern, maxItems, ...key }: Key<string[]> & { pattern: string; maxItems: number }) {
  return Type.Unsafe<string | string[]>({
    type: ['string', 'array'],
    pattern,
    items: { type: 'string', pattern, ...(key.hidden && { 'x-svc-secret': true }), 'x-svc-expected': key.expected },
    minItems: 1,
    maxItems,
    ...annotated(key),
  })
}

/** Makes a key nullable; null is the default unless another is given. */
export function nullable<Schema extends TSchema>(
  schema: Schema,
  fallback: Static<Schema> | null = null,
): TUnsafe<Static<Schema> | null> {
  const { type, enum: values } = schema as { type?: string | string[]; enum?: unknown[] }
  return Type.Unsafe<Static<Schema> | null>({
    ...schema,
    type: [type, 'null'].flat(),
    ...(values && { enum: [...values, null] }),
    default: fallback,
  })
}

export function list<Item extends TSchema>(
  items: Item,
  key: Key<Static<Item>[]> & { minItems?: number; maxItems?: number },
) {
  return Type.Array(items, annotated(key))
}

/** Mapping from operator-defined names to values of one kind. */
export function named<Value extends TSchema>(names: Names, value: Value, key: Omit<Key<never>, 'default'>) {
  const { pattern, expected } = names
  return Type.Record(Type.String({ pattern }), value, {
    default: {},
    additionalProperties: false,
    'x-svc-names': expected,
    ...annotated(key),
  })
}

interface Names {
  pattern: string
  expected: string
}

/** Section of keys. All of it is optional. */
export function section<Properties extends Record<string, TSchema>>(description: string, properties: Properties) {
  return Type.Object(properties, { description, default: {}, additionalProperties: false })
}

/** Group of keys that forms one entry of a list or mapping. */
export function entry<Properties extends Record<string, TSchema>>(
  description: string,
  properties: Properties,
  example?: object,
) {
  return Type.Object(properties, { description, additionalProperties: false, ...(example && { examples: [example] }) })
}

const fileable = {
  type: ['string', 'object'],
  minLength: 1,
  properties: { file: { type: 'string', minLength: 1, description: 'A file whose content is the value.' } },
  required: ['file'],
  additionalProperties: false,
  'x-svc-fileable': true,
  'x-svc-expected': 'text, or { file: <path> }',
}

function annotated<Given extends Key<unknown>>({ reload, expected, hidden, example, entries, ...keywords }: Given) {
  return {
    ...keywords,
    ...(example !== undefined && { examples: [example] }),
    ...(entries && { 'x-svc-entries': entries }),
    ...(expected && { 'x-svc-expected': expected }),
    ...(hidden && { 'x-svc-secret': true }),
    'x-svc-reload': reload ?? 'live',
  }
}
