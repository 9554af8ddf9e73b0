import type { Database } from '../../../../platform/database/database.ts'
import { query, type Row, type Value } from '../../../../platform/database/statements.ts'
import {
  columns,
  type Exchange,
  type Granted,
  type JoiningWriter,
  type Rotation,
  recordColumns,
  type Use,
  valuesOf,
} from '../../records/records.ts'
import { WriteBatch } from './write-batch.ts'

type Column = readonly [name: string, type: string]

const namesOf = (columns: readonly Column[]): string => columns.map(([name]) => name).join(', ')
const prefixed = (prefix: string): Column[] => recordColumns.map(([name, type]) => [`${prefix}${name}`, type])

/** How a statement treats rows that a transaction has locked: it waits for them, or skips their items. */
type Locked = 'waits' | 'skips'

/** A statement that writes items. */
interface Statement<Item, Result> {
  name: string
  /** Its text after `given`, the rows of the items. Returns a row with the id of each item that it wrote. */
  textOf(locked: Locked): string
  /** The columns of an item, and their values. */
  columns: readonly Column[]
  values(item: Item): Value[]
  idOf(item: Item): string
  /** Result of an item, by the row that the statement returned. */
  resultOf(row: Row | undefined): Result
}

const useColumns: Column[] = [
  ['used_id', 'text'],
  ['used_at', 'bigint'],
]
const rotationColumns = [...recordColumns, ...useColumns]
const exchangeColumns: Column[] = [
  ...rotationColumns,
  ['extended_id', 'text'],
  ['extended_before', 'bigint'],
  ['extended_until', 'bigint'],
]
const grantColumns = prefixed('grant_')
const codeColumns = prefixed('code_')
const grantedColumns: Column[] = [...grantColumns, ['session', 'text'], ['session_row', 'text'], ...codeColumns]

const consumed = (locked: Locked) => `unused AS (SELECT oauth_records.id, used_at
    FROM given JOIN oauth_records ON oauth_records.id = used_id
    WHERE consumed_at IS NULL ${locked === 'skips' ? 'FOR UPDATE OF oauth_records SKIP LOCKED' : ''}),
  consumed AS (UPDATE oauth_records SET consumed_at = unused.used_at FROM unused
    WHERE oauth_records.id = unused.id AND consumed_at IS NULL RETURNING oauth_records.id)`

const useValues = ({ usedId, now }: Use): Value[] => [usedId, now]
const rotationValues = (rotation: Rotation): Value[] => [...valuesOf(rotation.successor), ...useValues(rotation)]

const uses: Statement<Use, boolean> = {
  name: 'oauth-consume',
  textOf: (locked) => `${consumed(locked)} SELECT id FROM consumed`,
  columns: useColumns,
  values: useValues,
  idOf: ({ usedId }) => usedId,
  resultOf: (row) => row !== undefined,
}

const rotations: Statement<Rotation, void> = {
  name: 'oauth-rotate',
  // A statement that waits inserts the successor even if a concurrent request consumed the token, because of the grace.
  textOf: (locked) => `${consumed(locked)},
    saved AS (INSERT INTO oauth_records ${columns} SELECT ${namesOf(recordColumns)} FROM given
      ${locked === 'skips' ? 'WHERE used_id IN (SELECT id FROM consumed)' : ''} ON CONFLICT DO NOTHING)
    SELECT id FROM consumed`,
  columns: rotationColumns,
  values: rotationValues,
  idOf: ({ usedId }) => usedId,
  resultOf: () => {},
}

const exchanges: Statement<Exchange, { isExtended: boolean } | null> = {
  name: 'oauth-exchange',
  // Never waits for the grant, because a transaction that deletes both can have locked it first.
  textOf: (locked) => `${consumed(locked)},
    exchanged AS (SELECT given.* FROM given JOIN consumed ON consumed.id = used_id),
    short AS (SELECT oauth_records.id, extended_until FROM exchanged
      JOIN oauth_records ON oauth_records.id = extended_id AND oauth_records.expires_at < extended_before
      FOR UPDATE OF oauth_records SKIP LOCKED),
    extended AS (UPDATE oauth_records SET expires_at = extended_until FROM short
      WHERE oauth_records.id = short.id RETURNING oauth_records.id),
    saved AS (INSERT INTO oauth_records ${columns} SELECT ${namesOf(recordColumns)} FROM exchanged)
    SELECT used_id AS id, EXISTS (SELECT 1 FROM extended WHERE extended.id = extended_id) AS extended FROM exchanged`,
  columns: exchangeColumns,
  values: (exchange) => {
    const { id, before, until } = exchange.extension
    return [...rotationValues(exchange), id, before, until]
  },
  idOf: ({ usedId }) => usedId,
  resultOf: (row) => (row ? { isExtended: row.extended === true } : null),
}

const grants: Statement<Granted, boolean> = {
  name: 'oauth-insert-granted',
  // Locks the browser sessions, so that they cannot end during the insert.
  textOf: (locked) => `owned AS (SELECT given.* FROM given JOIN sessions
      ON public_id = session AND user_id = grant_user_id AND (session_row IS NULL OR sessions.id = session_row)
      FOR KEY SHARE OF sessions ${locked === 'skips' ? 'SKIP LOCKED' : ''}),
    granted AS (INSERT INTO oauth_records ${columns} SELECT ${namesOf(grantColumns)} FROM owned
      ON CONFLICT DO NOTHING RETURNING id)
    INSERT INTO oauth_records ${columns} SELECT ${namesOf(codeColumns)} FROM owned JOIN granted ON granted.id = grant_id
    RETURNING id`,
  columns: grantedColumns,
  values: ({ owner, grant, code }) => [...valuesOf(grant), owner.publicId, owner.rowId, ...valuesOf(code)],
  idOf: ({ code }) => code.id,
  resultOf: (row) => row !== undefined,
}

/** Items as rows: one from single parameters, or any number from an array for each column. */
const oneRow = (columns: readonly Column[]): string =>
  `SELECT ${columns.map(([name, type], i) => `$${i + 1}::${type} AS ${name}`).join(', ')}`
const manyRows = (columns: readonly Column[]): string =>
  `SELECT * FROM unnest(${columns.map(([, type], i) => `$${i + 1}::${type}[]`).join(', ')}) AS items (${namesOf(columns)})`

/**
 * Writes of code flows and refreshes on PostgreSQL. Each is one statement, and concurrent requests share it: one round trip
 * and one commit.
 */
export class JointWrites implements JoiningWriter {
  readonly #database: Database
  readonly #uses = this.#batch(uses)
  readonly #rotations = this.#batch(rotations)
  readonly #exchanges = this.#batch(exchanges)
  readonly #grants = this.#batch(grants)

  constructor(database: Database) {
    this.#database = database
  }

  grant(granted: Granted): Promise<boolean> {
    return this.#grants.run(granted)
  }

  use(use: Use): Promise<boolean> {
    return this.#uses.run(use)
  }

  rotate(rotation: Rotation): Promise<void> {
    return this.#rotations.run(rotation)
  }

  exchange(exchange: Exchange): Promise<{ isExtended: boolean } | null> {
    return this.#exchanges.run(exchange)
  }

  #batch<Item, Result>(statement: Statement<Item, Result>): WriteBatch<Item, Result> {
    const { name, textOf, columns, values, idOf, resultOf } = statement
    const text = (rows: string, locked: Locked) => `WITH given AS (${rows}), ${textOf(locked)}`
    const one = { name, text: text(oneRow(columns), 'waits') }
    const oneSkipping = { name: `${name}-one`, text: text(oneRow(columns), 'skips') }
    const manySkipping = { name: `${name}-many`, text: text(manyRows(columns), 'skips') }
    return new WriteBatch({
      idOf,
      writeAvailable: async (items) => {
        const [first = [], ...others] = items.map(values)
        const rows =
          others.length === 0
            ? await query(this.#database, oneSkipping, first)
            : await query(this.#database, manySkipping, transposed(first, others))
        return new Map(rows.map((row) => [String(row.id), resultOf(row)]))
      },
      write: async (item) => resultOf((await query(this.#database, one, values(item)))[0]),
    })
  }
}

const transposed = (first: Value[], others: Value[][]): Value[][] =>
  first.map((value, column) => [value, ...others.map((row) => row[column] ?? null)])
