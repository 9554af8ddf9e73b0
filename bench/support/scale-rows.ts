import pg from 'pg'
import { preparePostgresql } from '../../src/platform/database/postgresql.ts'
import { withClient } from './postgresql.ts'
import { type Amounts, fillPostgresql } from './rows.ts'

/** Rows of the large tables. */
export interface ScaleAmounts extends Amounts {
  events: number
  records: number
}

/** Rows that svc prunes once they have ended. */
export const prunedTables = [
  'personal_access_tokens',
  'sessions',
  'remember_tokens',
  'events',
  'oauth_records',
  'oauth_denials',
  'oauth_status_entries',
  'oauth_personal_tokens',
  'used_once',
  'login_limits',
  'login_codes',
  'passkey_challenges',
  'idempotency_keys',
  'invitations',
  'email_changes',
  'outbox',
] as const

export type PrunedTable = (typeof prunedTables)[number]

const utc = "(now() AT TIME ZONE 'utc')"
const milliseconds = '(extract(epoch FROM now()) * 1000)::bigint'
const hash = (word: string): string => `encode(sha256(('${word}' || i)::bytea), 'hex')`
const address = "'192.0.' || i / 256 % 256 || '.' || i % 256"
const browser =
  "'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'"
/** As long as the encrypted payload of a refresh token. */
const payload = "'v1.' || repeat(md5(i::text), 16)"

interface Times {
  /** When the row ends. */
  end: string
  endMs: string
  /** Creation or last use of a row that ends some time later. */
  begin: string
}

const live: Times = {
  end: `${utc} + interval '1 day' + random() * interval '30 days'`,
  endMs: `${milliseconds} + 86400000 + (random() * 2592000000)::bigint`,
  begin: `${utc} - random() * interval '1 hour'`,
}

const ended: Times = {
  end: `${utc} - interval '3 days' - random() * interval '30 days'`,
  endMs: `${milliseconds} - 259200000 - (random() * 2592000000)::bigint`,
  begin: `${utc} - interval '500 days' - random() * interval '30 days'`,
}

/** Columns and values of the i-th row. Its owner is `owner`. */
const rows: Record<PrunedTable, (times: Times, word: string) => Record<string, string>> = {
  personal_access_tokens: ({ end }, word) => ({
    tokenable_type: "'user'",
    tokenable_id: 'owner',
    name: "'device ' || i",
    token: hash(`${word}token`),
    abilities: `'["*"]'`,
    last_used_at: utc,
    expires_at: end,
    created_at: utc,
    updated_at: utc,
  }),
  sessions: ({ begin }, word) => ({
    id: hash(`${word}session`),
    public_id: hash(`${word}public`),
    user_id: 'owner',
    ip_address: address,
    user_agent: browser,
    created_at: begin,
    last_seen_at: begin,
  }),
  remember_tokens: ({ begin, end }, word) => ({
    user_id: 'owner',
    token_hash: hash(`${word}remember`),
    ip_address: address,
    user_agent: browser,
    created_at: begin,
    last_used_at: begin,
    expires_at: end,
  }),
  events: ({ begin }) => ({
    type: `(ARRAY['login', 'login_failed', 'logout', 'token_created', 'oauth_token_issued'])[1 + i % 5]`,
    user_id: 'owner',
    actor: "'user:' || owner",
    credential: `CASE WHEN i % 2 = 0 THEN 'session:' || md5(i::text) END`,
    client_id: `CASE WHEN i % 5 = 4 THEN 'client-' || i % 50 END`,
    ip_address: address,
    user_agent: browser,
    request_id: 'md5(i::text)',
    created_at: begin,
  }),
  oauth_records: ({ endMs }, word) => ({
    id: hash(`${word}record`),
    kind: `(ARRAY['RefreshToken', 'RefreshToken', 'Grant', 'Session', 'AccessToken'])[1 + i % 5]`,
    payload,
    grant_hash: `CASE WHEN i % 5 <> 3 THEN ${hash(`${word}grant`)} END`,
    uid_hash: `CASE WHEN i % 5 = 3 THEN ${hash(`${word}uid`)} END`,
    parent_hash: `CASE WHEN i % 5 < 3 THEN ${hash(`${word}parent`)} END`,
    user_id: 'owner',
    session_id: `CASE WHEN i % 5 = 3 THEN ${hash(`${word}public`)} END`,
    expires_at: endMs,
  }),
  oauth_denials: ({ endMs }, word) => ({ id: hash(`${word}denial`), expires_at: endMs }),
  oauth_status_entries: ({ endMs }, word) => ({
    list: word === '' ? '0' : '1',
    idx: 'i',
    claims: payload,
    expires_at: endMs,
  }),
  oauth_personal_tokens: ({ begin, end }, word) => ({
    id: `'${word}' || i`,
    user_id: 'owner',
    name: "'laptop ' || i",
    scopes: `'["orders:read"]'`,
    created_at: begin,
    expires_at: end,
  }),
  used_once: ({ endMs }, word) => ({ id: hash(`${word}once`), expires_at: endMs }),
  login_limits: ({ endMs }, word) => ({ key: hash(`${word}limit`), failures: '1', resets_at: endMs }),
  login_codes: ({ end }, word) => ({
    id: hash(`${word}code`),
    email: "'user' || owner || '@example.com'",
    mac: hash('mac'),
    remember: 'false',
    expires_at: end,
  }),
  passkey_challenges: ({ end }, word) => ({
    ceremony: "'login'",
    session_hash: hash(`${word}session`),
    challenge: hash(`${word}challenge`),
    expires_at: end,
  }),
  idempotency_keys: ({ end }, word) => ({
    id: hash(`${word}key`),
    request: hash('request'),
    record: 'i',
    expires_at: end,
  }),
  invitations: ({ begin, end }, word) => ({
    email: `'${word}invited' || i || '@example.com'`,
    token_hash: hash(`${word}invitation`),
    role: "'user'",
    created_at: begin,
    expires_at: end,
  }),
  email_changes: ({ begin, end }, word) => ({
    user_id: 'owner',
    old_email: `'${word}old' || i || '@example.com'`,
    new_email: `'${word}new' || i || '@example.com'`,
    created_at: begin,
    applied_at: begin,
    expires_at: end,
  }),
  outbox: ({ begin }, word) => ({
    kind: "'mail'",
    payload,
    attempts: '10',
    available_at: begin,
    // Live jobs failed within the last 30 days, after which svc deletes them.
    failed_at: begin,
    created_at: begin,
    user_id: word === '' ? 'owner' : 'NULL',
  }),
}

function insertOf(table: PrunedTable, count: number, users: number, isEnded: boolean): string {
  const row = rows[table](isEnded ? ended : live, isEnded ? 'ended' : '')
  return `INSERT INTO ${table} (${Object.keys(row).join(', ')}) SELECT ${Object.values(row).join(', ')}
    FROM (SELECT i, 1 + (i::bigint * 7919) % ${users} AS owner FROM generate_series(1, ${count}) i) numbers
    ON CONFLICT DO NOTHING`
}

/** Skips foreign keys, which every row satisfies, and indexes each table after it is full. */
async function withoutIndexes(url: string, work: (client: pg.Client, fast: string) => Promise<void>): Promise<void> {
  const faster = new URL(url)
  faster.searchParams.set('options', '-c session_replication_role=replica -c maintenance_work_mem=512MB')
  const fast = faster.href
  await withClient(fast, async (client) => {
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(
      `SELECT c.relname AS name, pg_get_indexdef(c.oid) AS definition FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       JOIN pg_class t ON t.oid = i.indrelid
       WHERE t.relnamespace = 'public'::regnamespace AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = c.oid)`,
    )
    for (const { name } of indexes) await client.query(`DROP INDEX ${pg.escapeIdentifier(name)}`)
    await work(client, fast)
    for (const { definition } of indexes) await client.query(definition)
  })
}

/** Migrates an empty database and fills every table that grows. */
export async function fillScale(url: string, amounts: ScaleAmounts, passwordHash: string): Promise<void> {
  const { users, events, records } = amounts
  await preparePostgresql(url)
  await withoutIndexes(url, async (client, fast) => {
    await fillPostgresql(fast, amounts, passwordHash)
    const others = Object.fromEntries(prunedTables.map((table) => [table, Math.ceil(users / 20)])) as Record<
      PrunedTable,
      number
    >
    const counts: Record<PrunedTable, number> = {
      ...others,
      personal_access_tokens: 0,
      sessions: 0,
      remember_tokens: Math.ceil(users / 2),
      events,
      oauth_records: records,
      oauth_status_entries: records,
      used_once: records,
      outbox: Math.ceil(users / 1000),
    }
    for (const table of prunedTables)
      if (counts[table] > 0) await client.query(insertOf(table, counts[table], users, false))
    await client.query(
      `INSERT INTO social_accounts (user_id, provider, provider_id, email, created_at, updated_at)
       SELECT i, 'google', 'g' || i, 'user' || i || '@example.com', ${utc}, ${utc} FROM generate_series(1, $1::int, 3) i`,
      [users],
    )
    await client.query(
      `INSERT INTO passkeys (user_id, name, credential_id, public_key, created_at, updated_at)
       SELECT i, 'phone', md5(i::text), md5(i::text), ${utc}, ${utc} FROM generate_series(1, $1::int, 5) i`,
      [users],
    )
    await client.query(
      `INSERT INTO oauth_consents (user_id, client_id, scope, created_at)
       SELECT i, 'client-' || i % 50, 'openid', ${utc} FROM generate_series(1, $1::int, 2) i`,
      [users],
    )
  })
  await withClient(url, async (client) => {
    await client.query('VACUUM ANALYZE')
    await client.query('CHECKPOINT')
  })
}

/** Adds rows to a table that the next pruning deletes. */
export async function addEnded(url: string, table: PrunedTable, count: number, users: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query("SET session_replication_role = 'replica'")
    await client.query(insertOf(table, count, users, true))
    await client.query(`ANALYZE ${table}`)
  })
}
