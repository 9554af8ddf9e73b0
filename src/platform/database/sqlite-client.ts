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

/** Statements that never write, or that SQLite rejects inside a transaction. */
const READS = /^\s*(select|pragma|explain|vacuum)\b/i

/**
 * The libsql adapter on a single connection. The original client opens a new connection after each transaction, without
 * the pragmas of svc. It also begins deferred transactions: if two processes read and then write, SQLite rejects one.
 */
export class SqliteAdapter extends PrismaLibSql {
  readonly #file: string

  constructor(file: string) {
    super({ url: `file:${file}` })
    this.#file = file
  }

  override createClient(): Client {
    // Sound: the adapter calls only `execute`, `executeMultiple`, `transaction` and `close` (in a transaction
    // `execute`, `commit` and `rollback`), and reads only the four result fields below.
    return new SqliteClient(this.#file) as unknown as Client
  }
}

/** One connection, which one caller uses at a time: the adapter holds its lock for a whole transaction. */
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

  // When SQLite rejects a statement as busy, the statement stays open until it is collected. Until then, later writes
  // on the connection report success without being committed. So svc takes the write lock first, with `exec`, which
  // always closes its statement.
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
      // A rejected read statement would keep the connection on an old snapshot.
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
    // On a full disk, SQLite rolls back on its own. Later statements must not commit one by one.
    if (!this.#db.inTransaction) throw new Error('SQLite rolled the transaction back')
    return run(this.#db, statement)
  }

  async commit() {
    try {
      this.#db.exec('COMMIT')
    } finally {
      // The connection is reused, so it must leave the transaction that failed to commit.
      await this.rollback()
    }
  }

  async rollback() {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
  }
}

/** Takes the write lock; waits for other processes without blocking the event loop. */
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
  // As one list: libsql would take a single null for named parameters.
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

// SQLite integers have 64 bits; the adapter would assume 32 and round raw results.
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
