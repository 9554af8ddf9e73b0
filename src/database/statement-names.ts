import { hash } from 'node:crypto'

/** Maximum number of prepared texts. PostgreSQL keeps about 20 kB for each, in each connection. */
const maxTexts = 200

/** A statement that the client sends. */
interface Sent {
  sql: string
}

/**
 * Returns a function that names the statements of a client. PostgreSQL parses and plans a named text once per connection. An
 * empty name prepares nothing.
 */
export function statementNames(max = maxTexts): (statement: Sent) => string {
  const names = new Map<string, string>()
  return ({ sql }) => {
    // Only inserts, because their plans do not depend on the size of a table. PostgreSQL would keep the plan that another
    // statement got for an empty table, and read the whole table once it has a million rows.
    if (!/^\s*(?:INSERT|WITH)\b/.test(sql)) return ''
    const known = names.get(sql)
    if (known !== undefined) return known
    // Lists of different lengths make different texts.
    if (names.size >= max) return ''
    const name = hash('sha256', sql, 'base64url')
    names.set(sql, name)
    return name
  }
}
