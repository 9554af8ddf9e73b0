import { resolve } from 'node:path'
import { signedInTables } from '../accounts.ts'
import { loadSettings } from '../boot.ts'
import { systemClock } from '../clock.ts'
import { jsonOption, printRecord, printRows } from '../command-output.ts'
import { CommandError, type CommandInput, type CommandOptions, type Terminal, terminalCommand } from '../commands.ts'
import { backUp, checkBackup, restore } from '../database/backup.ts'
import { copyDatabase, type Progress } from '../database/copy/copy.ts'
import { DataError } from '../database/copy/values.ts'
import { MigrationError } from '../database/migrations.ts'
import { schemaStatus } from '../database/status.ts'
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

const copyOptions = { json: jsonOption } as const satisfies CommandOptions

async function copy(terminal: Terminal, input: CommandInput<typeof copyOptions>): Promise<void> {
  const [from = '', to = ''] = input.arguments
  const copied = await attempt(() => copyDatabase(placeOf(from, 'from'), placeOf(to, 'to'), report))
  const { json } = input.options
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

const backupOptions = { json: jsonOption } as const satisfies CommandOptions

async function backup(terminal: Terminal, input: CommandInput<typeof backupOptions>): Promise<void> {
  const [file = ''] = input.arguments
  const report = await attempt(async () => backUp(embeddedFile(), resolve(file)))
  printRecord(terminal, report, input.options.json)
}

const restoreOptions = {
  check: { description: 'Only check the backup, and change nothing' },
  'end-sessions': {
    description: 'Delete sessions, remembered browsers and grants of the backup',
    excludes: 'check',
  },
  json: jsonOption,
} as const satisfies CommandOptions

async function runRestore(terminal: Terminal, input: CommandInput<typeof restoreOptions>): Promise<void> {
  const [name = ''] = input.arguments
  const file = resolve(name)
  const { check, json } = input.options
  const without = input.options['end-sessions'] ? signedInTables : []
  const restored = await attempt(async () =>
    check ? checkBackup(file) : restore(file, { target: embeddedFile(), without, now: systemClock.now() }),
  )
  printRecord(terminal, restored, json)
}

const statusOptions = { json: jsonOption } as const satisfies CommandOptions

/** Exit code when a start migrates. */
const migrates = 2

async function status(terminal: Terminal, input: CommandInput<typeof statusOptions>): Promise<void> {
  const found = await schemaStatus(loadSettings().config.current().database)
  const { state, reason, engine, applied, pending, unknown } = found
  if (input.options.json || !terminal.isTerminal) terminal.print(JSON.stringify(found))
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

/** Commands for the data as a whole. */
export const dataCommands = [
  terminalCommand({
    name: 'db:copy',
    summary: 'Copy all data to an empty database of either engine',
    details:
      'Copies one state of the source, also while svc runs on it, and compares rows and checksums of each table. Creates and migrates the target, and refuses one that has rows. Prints the tables, and progress on standard error. Put a password into PGPASSWORD or ~/.pgpass, because other users of the machine can read command lines.',
    arguments: [
      { name: 'from', required: true, description: 'The source: file:<path> or postgresql://user@host:port/name' },
      { name: 'to', required: true, description: 'The target, in the same form' },
    ],
    options: copyOptions,
    run: copy,
  }),
  terminalCommand({
    name: 'db:status',
    summary: 'Show what a start of this version does to the database',
    details:
      'Lists the applied, pending and unknown migrations, and changes nothing. Exits with 0 if the schema is current, with 2 if a start applies migrations, and with 1 if a start fails, for example because a newer version migrated the database.',
    options: statusOptions,
    run: status,
  }),
  terminalCommand({
    name: 'backup',
    summary: 'Back up the embedded database while svc runs',
    details:
      'Writes one state of the database to a new file that only the current user can read, and checks it. Overwrites nothing. app.secret is not part of it: store it in another place.',
    arguments: [{ name: 'file', required: true, description: 'The new file' }],
    options: backupOptions,
    run: backup,
  }),
  terminalCommand({
    name: 'restore',
    summary: 'Replace the embedded database by a backup',
    details:
      'Checks the backup first: integrity, and that this version knows its schema. Refuses to run while svc uses the database. Keeps the old database beside it. Credentials that were revoked since the backup work again: see docs/backup.md.',
    arguments: [{ name: 'file', required: true, description: 'The backup' }],
    options: restoreOptions,
    run: runRestore,
  }),
]
