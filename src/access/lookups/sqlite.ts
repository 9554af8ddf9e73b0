import { openSqliteReader } from '../../plugins/database/database.ts'
import { Batch } from './batch.ts'
import type { Lookups, RememberRow, SessionRow, TokenRow } from './lookups.ts'
import { rememberOf, selections, sessionOf, tokenOf, type Value } from './rows.ts'

/** Batched lookups on the synchronous driver: one prepared statement, run for each key of a turn. */
export function sqliteLookups(file: string): Lookups {
  const reader = openSqliteReader(file)

  const select = <Key, Row>(sql: string, rowOf: (values: Value[]) => Row) => {
    const statement = reader.prepare(sql).raw().safeIntegers(true)
    return (keys: Key[]): Row[] => {
      const rows: Row[] = []
      for (const key of keys) {
        const row = statement.get([key]) as Value[] | undefined
        if (row) rows.push(rowOf(row))
      }
      return rows
    }
  }

  const tokensById = new Batch<bigint, TokenRow>(select(`${selections.token} WHERE t.id = ?`, tokenOf), (row) => row.id)
  const tokensByHash = new Batch<string, TokenRow>(
    select(`${selections.token} WHERE t.token = ?`, tokenOf),
    (row) => row.token,
  )
  const sessions = new Batch<string, SessionRow>(
    select(`${selections.session} WHERE s.id = ?`, sessionOf),
    (row) => row.id,
  )
  const rememberTokens = new Batch<bigint, RememberRow>(
    select(`${selections.remember} WHERE r.id = ?`, rememberOf),
    (row) => row.id,
  )

  return {
    tokenById: (id) => tokensById.find(id),
    tokenByHash: (hash) => tokensByHash.find(hash),
    session: (hash) => sessions.find(hash),
    rememberToken: (id) => rememberTokens.find(id),
    close: async () => {
      reader.close()
    },
  }
}
