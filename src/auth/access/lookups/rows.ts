import type { User } from '../../../identity/user.ts'
import type { UserWithPassword } from '../../../identity/users.ts'
import {
  columnsOf,
  type LookupKind,
  milliseconds,
  string,
  text,
  userAt,
  users,
  type Value,
  wireTimestamp,
} from './columns.ts'
import type { RememberRow, SessionRow, TokenRow } from './lookups.ts'

const tokens = columnsOf('t', [
  'id',
  'tokenable_type',
  'name',
  'token',
  'abilities',
  'last_used_at',
  'expires_at',
  'created_at',
  'key_thumbprint',
])

const sessions = columnsOf('s', [
  'id',
  'public_id',
  'remember_token_id',
  'password_mark',
  'data',
  'created_at',
  'last_seen_at',
  'binding_id',
  'bound_at',
])

const rememberTokens = columnsOf('r', [
  'id',
  'token_hash',
  'previous_hash',
  'password_mark',
  'expires_at',
  'binding_id',
])

/** The user and the password hash at the end of a row. */
const ownerAt = (row: readonly Value[], offset: number): { user: User | null; password: string | null } => ({
  user: userAt(row, offset),
  password: text(row[offset + users.width]),
})

function tokenOf(row: readonly Value[]): TokenRow {
  const { at, width } = tokens
  return {
    id: BigInt(row[at.id] ?? 0),
    tokenableType: string(row[at.tokenable_type]),
    name: string(row[at.name]),
    token: string(row[at.token]),
    abilities: text(row[at.abilities]),
    lastUsedAt: wireTimestamp(row[at.last_used_at]),
    expiresAt: wireTimestamp(row[at.expires_at]),
    createdAt: wireTimestamp(row[at.created_at]),
    keyThumbprint: text(row[at.key_thumbprint]),
    user: userAt(row, width),
  }
}

function sessionOf(row: readonly Value[]): SessionRow {
  const { at, width } = sessions
  const device = row[at.remember_token_id]
  return {
    id: string(row[at.id]),
    publicId: string(row[at.public_id]),
    rememberTokenId: device === null || device === undefined ? null : BigInt(device),
    passwordFingerprint: text(row[at.password_mark]),
    data: string(row[at.data]),
    createdAt: milliseconds(row[at.created_at]),
    lastSeenAt: milliseconds(row[at.last_seen_at]),
    bindingId: text(row[at.binding_id]),
    boundAt: row[at.bound_at] === null ? null : milliseconds(row[at.bound_at]),
    ...ownerAt(row, width),
  }
}

function rememberOf(row: readonly Value[]): RememberRow {
  const { at, width } = rememberTokens
  return {
    id: BigInt(row[at.id] ?? 0),
    tokenHash: string(row[at.token_hash]),
    previousHash: text(row[at.previous_hash]),
    passwordFingerprint: text(row[at.password_mark]),
    expiresAt: milliseconds(row[at.expires_at]),
    bindingId: text(row[at.binding_id]),
    ...ownerAt(row, width),
  }
}

const tokenQuery = `SELECT ${tokens.sql}, ${users.sql}
  FROM personal_access_tokens t LEFT JOIN users u ON u.id = t.tokenable_id AND t.tokenable_type = 'user'`

export const tokenById: LookupKind<bigint, TokenRow> = {
  name: 'token-by-id',
  select: tokenQuery,
  column: 't.id',
  type: 'bigint',
  rowOf: tokenOf,
  keyOf: (row) => row.id,
}

export const tokenByHash: LookupKind<string, TokenRow> = {
  name: 'token-by-hash',
  select: tokenQuery,
  column: 't.token',
  type: 'text',
  rowOf: tokenOf,
  keyOf: (row) => row.token,
}

export const sessionByHash: LookupKind<string, SessionRow> = {
  name: 'session',
  select: `SELECT ${sessions.sql}, ${users.sql}, u.password FROM sessions s LEFT JOIN users u ON u.id = s.user_id`,
  column: 's.id',
  type: 'text',
  rowOf: sessionOf,
  keyOf: (row) => row.id,
}

export const rememberTokenById: LookupKind<bigint, RememberRow> = {
  name: 'remember-token',
  select: `SELECT ${rememberTokens.sql}, ${users.sql}, u.password
    FROM remember_tokens r LEFT JOIN users u ON u.id = r.user_id`,
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
  select: `SELECT ${users.sql} FROM users u`,
  column: 'u.id',
  type: 'bigint',
  rowOf: userOf,
  keyOf: (user) => BigInt(user.id),
}

export const userByEmail: LookupKind<string, UserWithPassword> = {
  name: 'user-by-email',
  select: `SELECT ${users.sql}, u.password FROM users u`,
  column: 'u.email',
  type: 'text',
  rowOf: (row) => ({ user: userOf(row), password: text(row[users.width]) }),
  keyOf: ({ user }) => user.email,
}

export const userByUsername: LookupKind<string, User> = {
  ...userById,
  name: 'user-by-username',
  column: 'u.username',
  type: 'text',
  keyOf: (user) => user.username,
}

export const sessionByPublicId: LookupKind<string, SessionRow> = {
  ...sessionByHash,
  name: 'session-by-public-id',
  column: 's.public_id',
  keyOf: (row) => row.publicId,
}
