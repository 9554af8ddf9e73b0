import { hash } from 'node:crypto'

/** Maximum number of prepared texts, because PostgreSQL keeps each of them in memory for each connection. */
const maxTexts = 200

/** A statement that the client sends. */
interface Sent {
  sql: string
}

/**
 * Returns a function that names the statements of a client. PostgreSQL parses and plans a named statement once per connection.
 * One with an empty name is not prepared.
 */
export function statementNames(max = maxTexts): (statement: Sent) => string {
  const names = new Map<string, string>()
  return ({ sql }) => {
    // Only inserts, because their plans hardly depend on the size of a table. PostgreSQL would plan other statements for an
    // empty table, and keep that plan when the table grows: it would read all rows to find one.
    if (!/^\s*(?:INSERT|WITH\b[\s\S]*\bINSERT)\b/.test(sql)) return ''
    const known = names.get(sql)
    if (known !== undefined) return known
    // Lists of different lengths make different texts.
    if (names.size >= max) return ''
    const name = hash('sha256', sql, 'base64url')
    names.set(sql, name)
    return name
  }
}
