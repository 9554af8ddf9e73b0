import type { CopyConnection, Place } from './connection.ts'
import { PostgresqlCopy } from './postgresql.ts'
import { SqliteCopy } from './sqlite.ts'

/** Opens a connection to an existing database. */
export const openCopy = async ({ engine, url, file }: Place): Promise<CopyConnection> =>
  engine === 'sqlite' ? new SqliteCopy(file ?? '') : PostgresqlCopy.open(url)
