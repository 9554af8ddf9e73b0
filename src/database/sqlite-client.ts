import { setTimeout as sleep } from 'node:timers/promises'
import { PrismaLibSql } from '@prisma/adapter-libsql'
import type Sqlite from 'libsql'
import { openSqliteConnection } from './sqlite.ts'
import { isBusy } from './sqlite-errors.ts'

type Client = ReturnType<PrismaLibSql['createClient']>
type Value = string | number | bigint | ArrayBuffer | null

interface Statement {
  sql: string
  args: unknown[]
}

const BUSY_DEADLINE = 5_000

/** What never writes, and what SQLite refuses inside a transaction. */
const READS = /^\s*(select|pragma|explain|vacuum)\b/i

/**
 * The libsql adapter on one connection of our own. Its stock client opens another connection after each transaction, which
 * would have none of our pragmas, and begins transactions deferred, so that two processes which read and then write refuse
 * each other.
 */
export class SqliteAdapter extends PrismaLibSql {
  readonly #file: string

  constructor(file: string) {
    super({ url: `file:${file}` })
    this.#file = file
  }

  override createClient(): Client {
    // Sound: the adapter calls `execute`, `executeMultiple`, `transaction` and `close`, and of a transaction `execute`,
    // `commit` and `rollback`; of a result it reads the four fields below.
    return new SqliteClient(this.#file) as unknown as Client
  }
}

/** One connection, used by one caller at a time: the adapter holds its lock for as long as a transaction lasts. */
class SqliteClient {
  readonly #file: string
  #db: Sqlite.Database

  constructor(file: string) {
    this.#file = file
    this.#db = openSqliteConnection(file)
  }

  async execute(statement: Statement) {
    return READS.test(statement.sql) ? this.#read(statement) : this.#write(statement)
  }

  async executeMultiple(script: string) {
    this.#db.exec(script)
  }

  async transaction() {
    await begin(this.#db)
    return new SqliteTransaction(this.#db)
  }

  close() {
    this.#db.close()
  }

  // A statement that SQLite refuses as busy stays begun until it is collected, and until then what later statements write
  // on the same connection is not committed, though they report success. So no statement that writes is ever refused:
  // the lock is taken first, by `exec`, which ends its statement whatever comes of it.
  async #write(statement: Statement) {
    await begin(this.#db)
    const transaction = new SqliteTransaction(this.#db)
    try {
      const result = run(this.#db, statement)
      await transaction.commit()
      return result
    } catch (error) {
      await transaction.rollback()
      throw error
    }
  }

  async #read(statement: Statement) {
    try {
      return run(this.#db, statement)
    } catch (error) {
      // The same, for reading: the refused statement would hold the connection to what it saw then.
      if (isBusy(error)) this.#renew()
      throw error
    }
  }

  #renew() {
    const old = this.#db
    this.#db = openSqliteConnection(this.#file)
    old.close()
  }
}

class SqliteTransaction {
  readonly #db: Sqlite.Database

  constructor(db: Sqlite.Database) {
    this.#db = db
  }

  async execute(statement: Statement) {
    // A full disk makes SQLite roll back by itself; what follows must not be committed one by one.
    if (!this.#db.inTransaction) throw new Error('SQLite rolled the transaction back')
    return run(this.#db, statement)
  }

  async commit() {
    try {
      this.#db.exec('COMMIT')
    } finally {
      // The connection is used again: it must not stay inside a transaction that could not be committed.
      await this.rollback()
    }
  }

  async rollback() {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
  }
}

/** Takes the lock for writing; waits for another process's without stopping the event loop. */
async function begin(db: Sqlite.Database): Promise<void> {
  const deadline = performance.now() + BUSY_DEADLINE
  for (;;) {
    try {
      db.exec('BEGIN IMMEDIATE')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error
    }
    await sleep(5 + Math.random() * 20)
  }
}

function run(db: Sqlite.Database, { sql, args }: Statement) {
  const statement = db.prepare(sql).safeIntegers(true)
  // As one list: a single null by itself would be taken for named parameters.
  const values = args.map(toSqlite)
  if (!statement.reader) {
    return { columns: [], columnTypes: [], rows: [], rowsAffected: statement.run(values).changes }
  }
  const columns = statement.columns()
  const rows = statement.raw(true).all(values) as unknown[][]
  return {
    columns: columns.map((column) => column.name),
    columnTypes: columns.map(typeOf),
    rows: rows.map((row) => row.map(fromSqlite)),
    rowsAffected: 0,
  }
}

// SQLite's INTEGER has 64 bits; the adapter would take it for 32 and round what a raw query returns.
function typeOf(column: { type: string | null }): string {
  return column.type === 'INTEGER' ? 'BIGINT' : (column.type ?? '')
}

function toSqlite(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}

function fromSqlite(value: unknown): Value {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (Buffer.isBuffer(value)) return new Uint8Array(value).buffer
  return value as Value
}
