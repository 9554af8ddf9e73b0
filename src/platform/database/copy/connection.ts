import type { AppliedRow } from '../migrate.ts'
import type { Engine } from '../migrations.ts'
import type { Row, Table } from './values.ts'

/** A database to copy from or to. */
export interface Place {
  engine: Engine
  url: string
  /** Absolute; null with PostgreSQL. */
  file: string | null
}

/** A connection for a copy, in one transaction. */
export interface CopyConnection {
  /** Begins a transaction that sees one state of the database. */
  beginRead(): Promise<void>
  /** Begins a transaction during which no other connection writes to the tables. */
  beginWrite(tables: readonly Table[]): Promise<void>
  /** The recorded migrations; null if the database never had any. */
  applied(): Promise<AppliedRow[] | null>
  /** The tables of svc, each after those that it refers to. */
  tables(): Promise<Table[]>
  count(table: Table): Promise<number>
  rows(table: Table, batch: number): AsyncIterable<Row[]>
  insert(table: Table, rows: readonly Row[]): Promise<void>
  /** The last id that the table assigned, which it never assigns again. Null if the table generates no ids. */
  lastId(table: Table): Promise<string | null>
  setLastId(table: Table, id: string): Promise<void>
  /** Checks deferred constraints, and commits. */
  commit(): Promise<void>
  /** Ends the transaction without changes, if there is one, and the connection. */
  close(): Promise<void>
}

export const bookkeeping = '_prisma_migrations'

/** Sorts the tables so that each follows the tables that it refers to. Sorts the columns of each by name. */
export function sortTables(tables: Table[], references: readonly { from: string; to: string }[]): Table[] {
  const sorted: Table[] = []
  const open = new Map(tables.sort((a, b) => (a.name < b.name ? -1 : 1)).map((table) => [table.name, table]))
  while (open.size > 0) {
    const blocked = (name: string) => references.some(({ from, to }) => from === name && to !== name && open.has(to))
    const free = [...open.values()].filter(({ name }) => !blocked(name))
    // Tables that refer to each other keep the order of their names.
    for (const table of free.length > 0 ? free : open.values()) {
      sorted.push({ ...table, columns: table.columns.toSorted((a, b) => (a.name < b.name ? -1 : 1)) })
      open.delete(table.name)
    }
  }
  return sorted
}
