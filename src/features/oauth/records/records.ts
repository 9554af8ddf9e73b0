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

/** A grant of a browser session, and its code. */
export interface Granted {
  owner: Owner
  grant: NewRecord
  code: NewRecord
}

/** The use of a code or token, at `now` (unix ms). */
export interface Use {
  usedId: string
  now: number
}

/** The use of a refresh token, and its successor. */
export interface Rotation extends Use {
  successor: NewRecord
}

/** The use of a code, its refresh token, and the extension of a grant that ends before `before` to `until` (unix ms). */
export interface Exchange extends Rotation {
  extension: { id: string; before: number; until: number }
}

/** Makes the writes of code flows and refreshes, each in one statement. */
export interface JoiningWriter {
  /** Inserts a grant of a browser session and its code; false if that session no longer belongs to the user. */
  grant(granted: Granted): Promise<boolean>
  /** Consumes a record; false if it was used before or does not exist. */
  use(use: Use): Promise<boolean>
  /** Consumes a refresh token and inserts its successor, if no concurrent request did. */
  rotate(rotation: Rotation): Promise<void>
  /** Consumes a code, inserts its refresh token and extends its grant. Null if the code was used before or does not exist. */
  exchange(exchange: Exchange): Promise<{ isExtended: boolean } | null>
}
