import type { Value } from '../../../platform/database/statements.ts'

/** Record as stored. Hashes are SHA-256 in hex, times unix milliseconds. */
export interface NewRecord {
  id: string
  kind: string
  payload: string
  grantHash: string | null
  codeHash: string | null
  uidHash: string | null
  /** `uidHash` of the session with which the record ends. */
  parentHash: string | null
  userId: bigint | null
  sessionId: string | null
  expiresAt: number | null
}

/** A browser session that a record depends on. */
export interface Owner {
  publicId: string
  /** Id of its row when the request read it, which a renewal changes; null if the request did not. */
  rowId: string | null
}

/** Names and types of the columns, in the order of `valuesOf`. */
export const recordColumns = [
  ['id', 'text'],
  ['kind', 'text'],
  ['payload', 'text'],
  ['grant_hash', 'text'],
  ['code_hash', 'text'],
  ['uid_hash', 'text'],
  ['user_id', 'bigint'],
  ['session_id', 'text'],
  ['expires_at', 'bigint'],
  ['parent_hash', 'text'],
] as const

/** List of the columns, for an `INSERT`. */
export const columns = `(${recordColumns.map(([name]) => name).join(', ')})`

export const valuesOf = (record: NewRecord): Value[] => [
  record.id,
  record.kind,
  record.payload,
  record.grantHash,
  record.codeHash,
  record.uidHash,
  record.userId,
  record.sessionId,
  record.expiresAt,
  record.parentHash,
]
