import type { EventContext } from '../../../identity/events.ts'
import type { ImportItem } from '../../../identity/import-part.ts'
import {
  type FoundUser,
  findKept,
  insertKept,
  type KeptUser,
  noteLaterImport,
} from '../../../identity/import-with-ids.ts'
import { DataError } from '../../../platform/database/copy/values.ts'
import type { Database, Tx } from '../../../platform/database/database.ts'
import { isUniqueViolation } from '../../../platform/database/unique.ts'
import { type ImportPart, rowId } from './part.ts'
import { ImportReport, type Outcome } from './report.ts'
import type { ForeignSource, SourceRow, SourceTable } from './source/source.ts'
import { requiredUserColumns, type UserRules, userColumns, userOf } from './users.ts'

/** Users per transaction. */
const batch = 100

/** Records of one kind per statement. */
const chunk = 500

/** How often a batch is tried while other processes create its users. */
const maxTries = 3

export interface ImportRun {
  source: ForeignSource
  database: Database
  origin: EventContext
  parts: readonly ImportPart[]
  rules: UserRules
  /** Whether to write. Otherwise the import only reports what it would do. */
  applies: boolean
}

/** Rows of one kind that belong to the users of a batch. */
interface PartRows {
  part: ImportPart
  table: string
  rows: readonly SourceRow[]
}

/** Imports the users of a Laravel application and what belongs to them. */
export async function importLaravel(run: ImportRun): Promise<ImportReport> {
  const report = new ImportReport(run.applies)
  const users = await userTable(run.source)
  const tables: { part: ImportPart; table: SourceTable }[] = []
  for (const part of run.parts) {
    const table = await partTable(run.source, part)
    if (table) tables.push({ part, table })
  }
  const addresses = new Set<string>()
  let after: string | null = null
  for (;;) {
    const rows: SourceRow[] = await run.source.page(users, after, batch)
    if (rows.length === 0) break
    const ids = rows.flatMap(({ id }) => (rowId(id) === null ? [] : [String(id)]))
    const parts: PartRows[] = []
    for (const { part, table } of tables)
      parts.push({
        part,
        table: table.name,
        rows: await run.source.matching(table, String(table.columns.owner), ids),
      })
    const { outcomes, fresh } = await importBatch(run, { rows, parts, addresses })
    for (const outcome of outcomes) report.add(outcome)
    for (const address of fresh) addresses.add(address)
    after = rows.at(-1)?.id ?? null
    if (rows.length < batch || after === null) break
  }
  for (const { table } of tables) {
    const others = (await run.source.count(table.name)) - report.countOf(table.name)
    const reason = 'it belongs to no user of the users table'
    if (others > 0) report.add({ table: table.name, result: 'skipped', reason }, others)
  }
  return report
}

async function userTable(source: ForeignSource): Promise<SourceTable> {
  const columns = await source.columnsOf('users')
  if (columns.size === 0) throw new DataError('The source has no table users. Is it the database of the application?')
  const missing = requiredUserColumns.filter((column) => !columns.has(column))
  if (missing.length > 0) throw new DataError(`Table users of the source has no column ${missing.join(', ')}.`)
  const present = userColumns.filter((column) => columns.has(column))
  return { name: 'users', columns: Object.fromEntries(present.map((column) => [column, column])) }
}

/** Returns the table of a part; null if the source has none. */
async function partTable(source: ForeignSource, part: ImportPart): Promise<SourceTable | null> {
  for (const name of part.tables) {
    const existing = await source.columnsOf(name)
    if (existing.size === 0) continue
    const columns = chooseColumns(part.columns, existing)
    const missing = ['id', 'owner', ...part.required].filter((value) => columns[value] === undefined)
    const expected = missing.map((value) => part.columns[value]?.join(' or '))
    if (missing.length === 0) return { name, columns }
    throw new DataError(`Table ${name} of the source has no column ${expected.join(', ')}.`)
  }
  return null
}

/** Chooses for each value the first of its possible columns that exists. */
export const chooseColumns = (
  possible: Readonly<Record<string, readonly string[]>>,
  existing: ReadonlySet<string>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(possible).flatMap(([value, names]) => {
      const column = names.find((name) => existing.has(name))
      return column === undefined ? [] : [[value, column]]
    }),
  )

interface Batch {
  rows: readonly SourceRow[]
  parts: readonly PartRows[]
  /** Addresses of earlier batches. */
  addresses: ReadonlySet<string>
}

/** What a batch does, and the addresses of its new users. */
interface BatchResult {
  outcomes: Outcome[]
  fresh: string[]
}

/** Imports users with what belongs to them in one transaction, so that an interrupted import can be repeated. */
async function importBatch(run: ImportRun, given: Batch): Promise<BatchResult> {
  const { database, applies } = run
  // Without writes, svc does not have to wait for a transaction.
  if (!applies) return work(run, database.prisma, given)
  for (let tries = 1; ; tries++) {
    try {
      return await database.transaction((tx) => work(run, tx, given))
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      if (tries === maxTries)
        throw new DataError('Another process created the same users. Run the command again.', { cause: error })
    }
  }
}

async function work(run: ImportRun, tx: Tx, { rows, parts, addresses }: Batch): Promise<BatchResult> {
  const { database, origin, applies } = run
  const outcomes: Outcome[] = []
  const { fresh, states } = await sortUsers(run, tx, { rows, addresses, outcomes })
  if (applies) await insertKept(tx, database.engine, origin, fresh)
  const later = new Set<bigint>()
  for (const { part, table, rows: all } of parts) {
    for (let from = 0; from < all.length; from += chunk) {
      const given = { part, table, rows: all.slice(from, from + chunk) }
      const items = await sortItems(tx, given, states, outcomes)
      if (items.length === 0) continue
      if (applies) await part.insert(tx, items, { engine: database.engine, now: origin.now })
      for (const { userId } of items) if (states.get(userId)?.state === 'present') later.add(userId)
    }
  }
  if (applies) await noteLaterImport(tx, origin, later)
  return { outcomes, fresh: fresh.map(({ email }) => email) }
}

/** Decides about each user, and returns the new ones and the state of each. */
async function sortUsers(
  { rules, origin }: ImportRun,
  tx: Tx,
  { rows, addresses, outcomes }: Pick<Batch, 'rows' | 'addresses'> & { outcomes: Outcome[] },
): Promise<{ fresh: KeptUser[]; states: Map<bigint, FoundUser> }> {
  const table = 'users'
  const users: KeptUser[] = []
  for (const row of rows) {
    const user = userOf(row, rules)
    if (typeof user === 'string') outcomes.push({ table, result: 'skipped', reason: user, id: row.id })
    else users.push(user)
  }
  const found = await findKept(tx, users, origin.now)
  const fresh: KeptUser[] = []
  const states = new Map<bigint, FoundUser>()
  const taken = new Set(addresses)
  for (const [at, user] of users.entries()) {
    const state = found[at] ?? { state: 'new' }
    const id = String(user.id)
    if (state.state === 'present') outcomes.push({ table, result: 'already there' })
    else if (state.state === 'conflict') outcomes.push({ table, result: 'skipped', reason: state.reason, id })
    else if (taken.has(user.email)) {
      outcomes.push({ table, result: 'skipped', reason: 'another user of Laravel has this address', id })
      continue
    } else {
      const reason = rules.adminRoles.includes(user.role) ? `administrator by the role ${user.role}` : undefined
      outcomes.push({ table, result: 'import', ...(reason ? { reason, id } : {}) })
      fresh.push(user)
      taken.add(user.email)
    }
    states.set(user.id, state)
  }
  return { fresh, states }
}

/** Decides about each record of a part, and returns the new ones. */
async function sortItems(
  tx: Tx,
  { part, table, rows }: PartRows,
  states: ReadonlyMap<bigint, FoundUser>,
  outcomes: Outcome[],
): Promise<ImportItem[]> {
  const read = rows.map((row) => ({ id: row.id, item: part.read(row) }))
  const items = read.flatMap(({ item }) => (typeof item === 'string' ? [] : [item]))
  const found = await part.find(tx, items)
  const fresh: ImportItem[] = []
  for (const { id, item } of read) {
    if (typeof item === 'string') {
      outcomes.push({ table, result: 'skipped', reason: item, id })
      continue
    }
    const state = states.get(item.userId)
    const stored = found[items.indexOf(item)] ?? 'new'
    const reason = reasonToSkip(item, state)
    if (state?.state === 'present' && stored === 'present') outcomes.push({ table, result: 'already there' })
    else if (reason !== null) outcomes.push({ table, result: 'skipped', reason, id })
    else if (stored === 'present') outcomes.push({ table, result: 'already there' })
    else if (stored !== 'new') outcomes.push({ table, result: 'skipped', reason: stored.conflict, id })
    else {
      outcomes.push({ table, result: 'import' })
      fresh.push(item)
    }
  }
  return fresh
}

/** Returns why a record is not imported for its user, or null. A repeated import must not restore what was removed in svc. */
function reasonToSkip({ createdAt }: ImportItem, state: FoundUser | undefined): string | null {
  if (state === undefined || state.state === 'conflict') return 'its user is skipped'
  if (state.state === 'new') return null
  if (state.importedAt === null) return 'its user was not imported from Laravel'
  return createdAt !== null && createdAt > state.importedAt ? null : 'it was removed in svc since the import'
}
