import { resolve } from 'node:path'
import { signedInTables } from '../../auth/accounts.ts'
import { CommandError, type Terminal } from '../../contract/command.ts'
import { printRecord, printRows } from '../../contract/command-output.ts'
import { systemClock } from '../../platform/clock.ts'
import { backUp, checkBackup, restore } from '../../platform/database/backup.ts'
import { copyDatabase, type Progress } from '../../platform/database/copy/copy.ts'
import { DataError } from '../../platform/database/copy/values.ts'
import { MigrationError } from '../../platform/database/migrations.ts'
import { schemaStatus } from '../../platform/database/status.ts'
import { loadSettings } from '../../process/boot.ts'
import { placeOf } from './place.ts'

/** Rows between two lines of progress. */
const interval = 10_000

const report: Progress = (table, rows, total) => {
  if (rows === total || rows % interval === 0) process.stderr.write(`${table}: ${rows} of ${total} rows\n`)
}

/** Runs an operation and prints its errors without a stack trace. */
async function attempt<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    throw error instanceof DataError || error instanceof MigrationError ? new CommandError(error.message) : error
  }
}

/** Copies all data to an empty database of either engine. */
export async function copy(terminal: Terminal, [from, to]: readonly [string, string], json?: true): Promise<void> {
  const copied = await attempt(() => copyDatabase(placeOf(from, 'from'), placeOf(to, 'to'), report))
  printRows(terminal, copied, { json, columns: ['table', 'rows', 'checksum'], empty: '' })
}

/** The file of the embedded database. Throws a CommandError for PostgreSQL. */
function embeddedFile(): string {
  const { file } = loadSettings().config.current().database
  if (file !== null) return file
  throw new CommandError(
    'This command is for the embedded database. With PostgreSQL use pg_dump and pg_restore: see docs/backup.md.',
  )
}

/** Backs up the embedded database while svc runs. */
export async function backup(terminal: Terminal, file: string, json?: true): Promise<void> {
  const report = await attempt(async () => backUp(embeddedFile(), resolve(file)))
  printRecord(terminal, report, json)
}

interface RestoreOptions {
  check?: true
  'end-sessions'?: true
  json?: true
}

/** Replaces the embedded database by a backup, or only checks the backup. */
export async function runRestore(terminal: Terminal, name: string, options: RestoreOptions): Promise<void> {
  const file = resolve(name)
  const { check, json } = options
  const without = options['end-sessions'] ? signedInTables : []
  const restored = await attempt(async () =>
    check ? checkBackup(file) : restore(file, { target: embeddedFile(), without, now: systemClock.now() }),
  )
  printRecord(terminal, restored, json)
}

/** Exit code when a start migrates. */
const migrates = 2

/** Prints what a start of this version does to the database. */
export async function status(terminal: Terminal, json?: true): Promise<void> {
  const found = await schemaStatus(loadSettings().config.current().database)
  const { state, reason, engine, applied, pending, unknown } = found
  if (json || !terminal.isTerminal) terminal.print(JSON.stringify(found))
  else {
    terminal.print(
      `${engine}: ${applied.length} migrations applied, ${pending.length} pending, ${unknown.length} unknown`,
    )
    for (const name of pending) terminal.print(`pending  ${name}`)
    for (const name of unknown) terminal.print(`unknown  ${name}`)
    const effect = { current: 'A start changes nothing.', pending: 'A start applies the pending migrations.' }
    terminal.print(state === 'blocked' ? `A start fails. ${reason}` : effect[state])
  }
  if (state !== 'current') process.exitCode = state === 'pending' ? migrates : 1
}
