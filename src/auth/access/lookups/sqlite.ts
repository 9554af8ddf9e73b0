import { openSqliteReader } from '../../../platform/database/database.ts'
import { batchedLookups, type Watch } from './batched.ts'
import type { Value } from './columns.ts'
import type { Lookups } from './lookups.ts'

/** Batched lookups on the synchronous driver: one prepared statement, run per key. */
export function sqliteLookups(file: string, watch: Watch): Lookups {
  const reader = openSqliteReader(file)

  return batchedLookups(
    ({ select, column, rowOf }) => {
      // 64-bit ids exceed the range of a number.
      const text = column === null ? `WITH keys AS (SELECT ? AS key) ${select}` : `${select} WHERE ${column} = ?`
      const statement = reader.prepare(text).raw().safeIntegers(true)
      return (keys) =>
        keys.flatMap((key) => {
          const row = statement.get([key]) as Value[] | undefined
          return row ? [rowOf(row)] : []
        })
    },
    1,
    async () => {
      reader.close()
    },
    watch,
  )
}
