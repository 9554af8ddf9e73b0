import type { User } from '../../../identity/user.ts'
import type { UserWithPassword } from '../../../identity/users.ts'
import type {
  GrantTokenRow,
  OauthRecordRow,
  OauthTokenRow,
  PersonalTokenRow,
  RememberRow,
  SessionRow,
  TokenRow,
} from './lookups.ts'

/** Column value from the driver: text on PostgreSQL, text or a number on SQLite. */
export type Value = string | number | bigint | null

const userColumns =
  'u.id, u.name, u.email, u.email_verified_at, u.role, u.two_factor_confirmed_at, u.created_at, u.updated_at, u.disabled_at, u.pending_email, u.language'
const userWidth = 11

const fromTokens = `SELECT t.id, t.tokenable_type, t.name, t.token, t.abilities, t.last_used_at, t.expires_at, t.created_at, ${userColumns}
  FROM personal_access_tokens t LEFT JOIN users u ON u.id = t.tokenable_id AND t.tokenable_type = 'user'`
const fromSessions = `SELECT s.id, s.public_id, s.remember_token_id, s.password_mark, s.data, s.created_at, s.last_seen_at, ${userColumns}, u.password
  FROM sessions s LEFT JOIN users u ON u.id = s.user_id`
const fromRememberTokens = `SELECT r.id, r.token_hash, r.previous_hash, r.password_mark, r.expires_at, ${userColumns}, u.password
  FROM remember_tokens r LEFT JOIN users u ON u.id = r.user_id`

const text = (value: Value | undefined): string | null => (value === null || value === undefined ? null : String(value))
const string = (value: Value | undefined): string => String(value ?? '')

/**
 * Converts the timestamps of both engines, `2026-11-20 11:32:46.5` and `2026-11-20T11:32:46.500+00:00`, to API format.
 */
function wireTimestamp(value: Value | undefined): string | null {
  if (value === null || value === undefined) return null
  const stamp = String(value)
  // Fast path for the usual form with milliseconds.
  if (stamp.length === 23 || stamp.length === 29) return `${stamp.slice(0, 10)}T${stamp.slice(11, 23)}000Z`
  const fraction = stamp.length > 20 ? stamp.slice(20, 23).replace(/\+.*/, '') : ''
  return `${stamp.slice(0, 10)}T${stamp.slice(11, 19)}.${fraction.padEnd(6, '0')}Z`
}

/** Converts the same timestamps to Unix milliseconds. */
const milliseconds = (value: Value | undefined): number => Date.parse(wireTimestamp(value) ?? '')

function userAt(row: readonly Value[], offset: number): User | null {
  if (row[offset] === null || row[offset] === undefined) return null
  const pending = text(row[offset + 9])
  return {
    id: Number(row[offset]),
    name: string(row[offset + 1]),
    email: string(row[offset + 2]),
    email_verified_at: wireTimestamp(row[offset + 3]),
    role: string(row[offset + 4]),
    two_factor_enabled: row[offset + 5] !== null,
    created_at: wireTimestamp(row[offset + 6]) ?? '',
    updated_at: wireTimestamp(row[offset + 7]) ?? '',
    disabled: row[offset + 8] !== null,
    ...(pending === null ? {} : { pending_email: pending }),
    language: text(row[offset + 10]),
  }
}

const tokenOf = (row: readonly Value[]): TokenRow => ({
  id: BigInt(row[0] ?? 0),
  tokenableType: string(row[1]),
  name: string(row[2]),
  token: string(row[3]),
  abilities: text(row[4]),
  lastUsedAt: wireTimestamp(row[5]),
  expiresAt: wireTimestamp(row[6]),
  createdAt: wireTimestamp(row[7]),
  user: userAt(row, 8),
})

const sessionOf = (row: readonly Value[]): SessionRow => ({
  id: string(row[0]),
  publicId: string(row[1]),
  rememberTokenId: row[2] === null || row[2] === undefined ? null : BigInt(row[2]),
  passwordFingerprint: text(row[3]),
  data: string(row[4]),
  createdAt: milliseconds(row[5]),
  lastSeenAt: milliseconds(row[6]),
  user: userAt(row, 7),
  password: text(row[7 + userWidth]),
})

const rememberOf = (row: readonly Value[]): RememberRow => ({
  id: BigInt(row[0] ?? 0),
  tokenHash: string(row[1]),
  previousHash: text(row[2]),
  passwordFingerprint: text(row[3]),
  expiresAt: milliseconds(row[4]),
  user: userAt(row, 5),
  password: text(row[5 + userWidth]),
})

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

export const tokenById: LookupKind<bigint, TokenRow> = {
  name: 'token-by-id',
  select: fromTokens,
  column: 't.id',
  type: 'bigint',
  rowOf: tokenOf,
  keyOf: (row) => row.id,
}

export const tokenByHash: LookupKind<string, TokenRow> = {
  name: 'token-by-hash',
  select: fromTokens,
  column: 't.token',
  type: 'text',
  rowOf: tokenOf,
  keyOf: (row) => row.token,
}

export const sessionByHash: LookupKind<string, SessionRow> = {
  name: 'session',
  select: fromSessions,
  column: 's.id',
  type: 'text',
  rowOf: sessionOf,
  keyOf: (row) => row.id,
}

export const rememberTokenById: LookupKind<bigint, RememberRow> = {
  name: 'remember-token',
  select: fromRememberTokens,
  column: 'r.id',
  type: 'bigint',
  rowOf: rememberOf,
  keyOf: (row) => row.id,
}

const userOf = (row: readonly Value[]): User => {
  const user = userAt(row, 0)
  if (!user) throw new Error('A user has no id.')
  return user
}

export const userById: LookupKind<bigint, User> = {
  name: 'user',
  select: `SELECT ${userColumns} FROM users u`,
  column: 'u.id',
  type: 'bigint',
  rowOf: userOf,
  keyOf: (user) => BigInt(user.id),
}

export const userByEmail: LookupKind<string, UserWithPassword> = {
  name: 'user-by-email',
  select: `SELECT ${userColumns}, u.password FROM users u`,
  column: 'u.email',
  type: 'text',
  rowOf: (row) => ({ user: userOf(row), password: text(row[userWidth]) }),
  keyOf: ({ user }) => user.email,
}

export const sessionByPublicId: LookupKind<string, SessionRow> = {
  ...sessionByHash,
  name: 'session-by-public-id',
  column: 's.public_id',
  keyOf: (row) => row.publicId,
}

const numberOf = (value: Value | undefined): number | null =>
  value === null || value === undefined ? null : Number(value)

/** Columns of a record. The key is also the one that `keyOf` returns. */
const recordColumns = (key: string): string => {
  const [table = ''] = key.split('.')
  const own = (columns: readonly string[]) => columns.map((column) => `${table}.${column}`)
  return [...own(['id', 'kind', 'payload']), key, ...own(['consumed_at', 'expires_at', 'session_id'])].join(', ')
}

const recordWidth = 7

const recordAt = (row: readonly Value[], offset: number): OauthRecordRow => ({
  id: string(row[offset]),
  kind: string(row[offset + 1]),
  payload: string(row[offset + 2]),
  key: string(row[offset + 3]),
  consumedAt: numberOf(row[offset + 4]),
  expiresAt: numberOf(row[offset + 5]),
  sessionId: text(row[offset + 6]),
})

const oauthRecords = (name: string, column: string): LookupKind<string, OauthRecordRow> => ({
  name,
  select: `SELECT ${recordColumns(column)} FROM oauth_records r`,
  column,
  type: 'text',
  rowOf: (row) => recordAt(row, 0),
  keyOf: (row) => row.key,
})

export const oauthRecord = oauthRecords('oauth-record', 'r.id')
export const oauthRecordByUid = oauthRecords('oauth-record-by-uid', 'r.uid_hash')
export const oauthRecordByCode = oauthRecords('oauth-record-by-code', 'r.code_hash')

/** The record at an offset of a row, or null if the join found none. */
const joinedRecord = (row: readonly Value[], offset: number): OauthRecordRow | null =>
  row[offset] === null ? null : recordAt(row, offset)

/** A code or a refresh token with what it depends on, in one query instead of four. */
export const oauthToken: LookupKind<string, OauthTokenRow> = {
  name: 'oauth-token',
  select: `SELECT ${recordColumns('r.id')}, ${recordColumns('g.id')}, ${recordColumns('s.uid_hash')}, ${userColumns}
    FROM oauth_records r
    LEFT JOIN oauth_records g ON g.uid_hash = r.grant_hash
    LEFT JOIN oauth_records s ON s.uid_hash = r.parent_hash
    LEFT JOIN users u ON u.id = r.user_id`,
  column: 'r.id',
  type: 'text',
  rowOf: (row) => ({
    record: recordAt(row, 0),
    grant: joinedRecord(row, recordWidth),
    session: joinedRecord(row, 2 * recordWidth),
    user: userAt(row, 3 * recordWidth),
  }),
  keyOf: ({ record }) => record.id,
}

/** Tests only for existence. */
export const oauthDenial: LookupKind<string, string> = {
  name: 'oauth-denial',
  select: 'SELECT id FROM oauth_denials',
  column: 'id',
  type: 'text',
  rowOf: (row) => string(row[0]),
  keyOf: (id) => id,
}

/** Length of a SHA-256 in hex. */
const hashLength = 64

/**
 * What an access token of a grant depends on, in one query instead of three. The key consists of the hash of its jti, the
 * id of its grant's record and the id of its user.
 */
const grantTokens = <Grant>(
  name: string,
  columns: string,
  grantOf: (row: readonly Value[], offset: number) => Grant,
): LookupKind<string, GrantTokenRow<Grant>> => ({
  name,
  select: `SELECT k.key, d.id, ${userColumns}, ${columns}
    FROM keys k
    LEFT JOIN oauth_denials d ON d.id = substr(k.key, 1, ${hashLength})
    LEFT JOIN oauth_records r ON r.id = substr(k.key, ${hashLength + 1}, ${hashLength})
    LEFT JOIN users u ON u.id = CAST(substr(k.key, ${2 * hashLength + 1}) AS BIGINT)`,
  column: null,
  type: 'text',
  rowOf: (row) => ({
    key: string(row[0]),
    isDenied: row[1] !== null,
    user: userAt(row, 2),
    grant: row[2 + userWidth] === null ? null : grantOf(row, 2 + userWidth),
  }),
  keyOf: (row) => row.key,
})

export const grantToken = grantTokens('grant-token', 'r.kind, r.expires_at', (row, offset) => ({
  expiresAt: numberOf(row[offset + 1]),
}))

export const grantTokenWithRecord = grantTokens('grant-token-with-record', recordColumns('r.id'), recordAt)

export const personalToken: LookupKind<string, PersonalTokenRow> = {
  name: 'personal-token',
  select: 'SELECT id, name FROM oauth_personal_tokens',
  column: 'id',
  type: 'text',
  rowOf: (row) => ({ id: string(row[0]), name: string(row[1]) }),
  keyOf: (row) => row.id,
}
