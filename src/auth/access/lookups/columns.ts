import { attributesOf } from '../../../identity/attributes.ts'
import { groupList, type User } from '../../../identity/user.ts'

/** Column value from the driver: text on PostgreSQL, text or a number on SQLite. */
export type Value = string | number | bigint | null

/** Columns of one table in a query: their SQL in order, and the position of each. */
export function columnsOf<const Name extends string>(table: string, names: readonly Name[]) {
  const at = Object.fromEntries(names.map((name, position) => [name, position])) as Record<Name, number>
  return { sql: names.map((name) => `${table}.${name}`).join(', '), at, width: names.length }
}

export const users = columnsOf('u', [
  'id',
  'name',
  'email',
  'email_verified_at',
  'role',
  'groups',
  'username',
  'attributes',
  'two_factor_confirmed_at',
  'created_at',
  'updated_at',
  'disabled_at',
  'pending_email',
  'language',
])

export const text = (value: Value | undefined): string | null =>
  value === null || value === undefined ? null : String(value)
export const string = (value: Value | undefined): string => String(value ?? '')

/**
 * Converts the timestamps of both engines, `2026-11-20 11:32:46.5` and `2026-11-20T11:32:46.500+00:00`, to API format.
 */
export function wireTimestamp(value: Value | undefined): string | null {
  if (value === null || value === undefined) return null
  const stamp = String(value)
  // Fast path for the usual form with milliseconds.
  if (stamp.length === 23 || stamp.length === 29) return `${stamp.slice(0, 10)}T${stamp.slice(11, 23)}000Z`
  const fraction = stamp.length > 20 ? stamp.slice(20, 23).replace(/\+.*/, '') : ''
  return `${stamp.slice(0, 10)}T${stamp.slice(11, 19)}.${fraction.padEnd(6, '0')}Z`
}

/** Converts the same timestamps to Unix milliseconds. */
export const milliseconds = (value: Value | undefined): number => Date.parse(wireTimestamp(value) ?? '')

export function userAt(row: readonly Value[], offset: number): User | null {
  const { at } = users
  const id = row[offset + at.id]
  if (id === null || id === undefined) return null
  const pending = text(row[offset + at.pending_email])
  return {
    id: Number(id),
    name: string(row[offset + at.name]),
    username: text(row[offset + at.username]) ?? `user-${id}`,
    ...attributesOf(string(row[offset + at.attributes])),
    email: string(row[offset + at.email]),
    email_verified_at: wireTimestamp(row[offset + at.email_verified_at]),
    role: string(row[offset + at.role]),
    groups: groupList(string(row[offset + at.groups])),
    two_factor_enabled: row[offset + at.two_factor_confirmed_at] !== null,
    created_at: wireTimestamp(row[offset + at.created_at]) ?? '',
    updated_at: wireTimestamp(row[offset + at.updated_at]) ?? '',
    disabled: row[offset + at.disabled_at] !== null,
    ...(pending === null ? {} : { pending_email: pending }),
    language: text(row[offset + at.language]),
  }
}

export const numberOf = (value: Value | undefined): number | null =>
  value === null || value === undefined ? null : Number(value)

/** One kind of lookup: columns, key column and row conversion. */
export interface LookupKind<Key, Row> {
  name: string
  /** Without its WHERE clause. */
  select: string
  /** Null if the query joins its tables to the keys, which are then a table `k` with the column `key`. */
  column: string | null
  type: 'bigint' | 'text'
  rowOf(values: readonly Value[]): Row
  keyOf(row: Row): Key
}
