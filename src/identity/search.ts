import type { Database } from '../platform/database/database.ts'
import { query, type Value } from '../platform/database/statements.ts'
import type { FieldFilter } from './fields.ts'
import { canonicalEmail, toUser, type User } from './user.ts'

export const userStates = ['active', 'disabled', 'verified', 'unverified', 'two_factor'] as const

/** Which users to return; all conditions apply. */
export interface UserFilter {
  /** Start of the address or of the name. */
  text?: string
  /** Finds the text anywhere in address and name. Reads all users, because no index serves it. */
  isInside?: boolean
  email?: string
  /** Has a linked account at this provider. */
  provider?: string
  role?: string
  group?: string
  /** A value of a declared field. Reads all users. */
  field?: FieldFilter
  state?: (typeof userStates)[number]
}

const states: Readonly<Record<(typeof userStates)[number], string>> = {
  active: 'disabled_at IS NULL',
  disabled: 'disabled_at IS NOT NULL',
  verified: 'email_verified_at IS NOT NULL',
  unverified: 'email_verified_at IS NULL',
  two_factor: 'two_factor_confirmed_at IS NOT NULL',
}

/** Converts to lower case as the database does: `lower` of SQLite changes only ASCII letters. */
const lowered = (text: string, engine: Database['engine']): string =>
  engine === 'sqlite' ? text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : text.toLowerCase()

/** Addresses are stored in their canonical form. */
const emailText = (text: string): string => (text.includes('@') ? canonicalEmail(text) : text)

/** Escapes the wildcards of LIKE. */
const literal = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

/** Sorts after every text that starts with the same characters. */
const last = '\u{10FFFF}'

/** Builds a statement: each condition adds its parameters. */
export function searchStatement(engine: Database['engine'], filter: UserFilter, after: number, take: number) {
  const values: Value[] = []
  const bind = (value: Value) => `$${values.push(value)}`
  const where = [`id > CAST(${bind(after)} AS BIGINT)`]
  if (filter.role !== undefined) where.push(`role = ${bind(filter.role)}`)
  if (filter.email !== undefined) where.push(`email = ${bind(canonicalEmail(filter.email))}`)
  if (filter.state) where.push(states[filter.state])
  if (filter.provider !== undefined) {
    where.push(`id IN (SELECT user_id FROM social_accounts WHERE provider = ${bind(filter.provider)})`)
  }
  if (filter.group !== undefined) {
    where.push(`id IN (SELECT user_id FROM group_memberships WHERE group_name = ${bind(filter.group)})`)
  }
  if (filter.field !== undefined) {
    const { name, value } = filter.field
    const isSqlite = engine === 'sqlite'
    const stored = isSqlite
      ? `attributes ->> ${bind(`$.fields.${name}`)}`
      : `attributes::jsonb #>> CAST(${bind(`{fields,${name}}`)} AS TEXT[])`
    // SQLite extracts true as 1.
    const wanted = isSqlite && /^(true|false)$/.test(value) ? [value, String(Number(value === 'true'))] : [value]
    where.push(`CAST(${stored} AS TEXT) IN (${wanted.map(bind).join(', ')})`)
  }
  if (filter.text !== undefined && filter.isInside) {
    const pattern = (text: string) => bind(`%${literal(lowered(text, engine))}%`)
    const [email, name] = [pattern(emailText(filter.text)), pattern(filter.text)]
    where.push(`(lower(email) LIKE ${email} ESCAPE '\\' OR lower(name) LIKE ${name} ESCAPE '\\')`)
  } else if (filter.text !== undefined) {
    // In PostgreSQL these operators compare bytes, whatever the collation of the database, and use the index.
    const [least, below] = engine === 'postgresql' ? ['~>=~', '~<~'] : ['>=', '<']
    const startOf = (column: string, text: string) => {
      const start = lowered(text, engine)
      const [from, to] = [bind(start), bind(start + last)]
      return `SELECT id FROM users WHERE lower(${column}) ${least} ${from} AND lower(${column}) ${below} ${to}`
    }
    where.push(`id IN (${startOf('email', emailText(filter.text))} UNION ${startOf('name', filter.text)})`)
  }
  const text = `SELECT id FROM users WHERE ${where.join(' AND ')} ORDER BY id LIMIT ${bind(take)}`
  return { text, values }
}

/** Finds users after the cursor, in the order of their ids. */
export async function searchUsers(
  database: Database,
  filter: UserFilter,
  { after, take }: { after: number; take: number },
): Promise<User[]> {
  const { text, values } = searchStatement(database.engine, filter, after, take)
  const parts = Object.keys(filter).sort().join('-')
  const found = await query(
    database,
    { name: `search-users-${parts}-${filter.state ?? ''}-${filter.isInside ?? ''}`, text },
    values,
  )
  const ids = found.map(({ id }) => BigInt(id as number | bigint | string))
  return (await database.prisma.user.findMany({ where: { id: { in: ids } }, orderBy: { id: 'asc' } })).map(toUser)
}
