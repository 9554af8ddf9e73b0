import { columnsOf, type LookupKind, numberOf, string, text, userAt, users, type Value } from './columns.ts'
import type { GrantTokenRow, OauthRecordRow, OauthTokenRow, PersonalTokenRow } from './lookups.ts'

/** Columns of a record. */
const recordsAs = (table: string) =>
  columnsOf(table, ['id', 'kind', 'payload', 'consumed_at', 'expires_at', 'session_id'])
const records = recordsAs('r')
/** The key that found a record comes before its columns. */
const recordWidth = records.width + 1

function recordAt(row: readonly Value[], offset: number): OauthRecordRow {
  const { at } = records
  const first = offset + 1
  return {
    key: string(row[offset]),
    id: string(row[first + at.id]),
    kind: string(row[first + at.kind]),
    payload: string(row[first + at.payload]),
    consumedAt: numberOf(row[first + at.consumed_at]),
    expiresAt: numberOf(row[first + at.expires_at]),
    sessionId: text(row[first + at.session_id]),
  }
}

const oauthRecords = (name: string, column: string): LookupKind<string, OauthRecordRow> => ({
  name,
  select: `SELECT ${column}, ${records.sql} FROM oauth_records r`,
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
  select: `SELECT r.id, ${records.sql}, g.id, ${recordsAs('g').sql}, s.uid_hash, ${recordsAs('s').sql}, ${users.sql}
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
  select: `SELECT k.key, d.id, ${users.sql}, ${columns}
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
    grant: row[2 + users.width] === null ? null : grantOf(row, 2 + users.width),
  }),
  keyOf: (row) => row.key,
})

export const grantToken = grantTokens('grant-token', 'r.id, r.expires_at', (row, offset) => ({
  expiresAt: numberOf(row[offset + 1]),
}))

export const grantTokenWithRecord = grantTokens('grant-token-with-record', `r.id, ${records.sql}`, recordAt)

export const personalToken: LookupKind<string, PersonalTokenRow> = {
  name: 'personal-token',
  select: 'SELECT id, name FROM oauth_personal_tokens',
  column: 'id',
  type: 'text',
  rowOf: (row) => ({ id: string(row[0]), name: string(row[1]) }),
  keyOf: (row) => row.id,
}
