#!/usr/bin/env node
import { createInterface } from 'node:readline'
import { revocationsOf } from './accounts.ts'
import { exitOnError, loadSettings } from './boot.ts'
import { systemClock } from './clock.ts'
import { commandHelp, findCommand, parseWords, programHelp } from './command-line.ts'
import { commands } from './command-list.ts'
import { type CommandContext, CommandError } from './commands.ts'
import { openDatabase } from './database/database.ts'
import { RecordSeal } from './features/oauth/protocol/record-seal.ts'
import { SignOut } from './features/oauth/protocol/session-end.ts'
import { Outbox } from './jobs/outbox.ts'
import { DatabaseCounters } from './limits/database-counters.ts'
import { Mail } from './mail/mail.ts'
import { createLogger } from './observability/logging.ts'
import { forTerminal } from './observability/terminal.ts'
import { version } from './version.ts'

const print = (line: string): void => void process.stdout.write(`${forTerminal(line)}\n`)

// Readers such as `head` may close the pipe early.
process.stdout.on('error', () => process.exit())

async function readPassword(): Promise<string> {
  const { stdin, stderr } = process
  const isTerminal = stdin.isTTY === true
  if (isTerminal) stderr.write('Password: ')
  // Without an output stream, the interface does not echo the input.
  const lines = createInterface({ input: stdin, terminal: isTerminal })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
    if (isTerminal) stderr.write('\n')
  }
}

/** Calls `use` with the configured database and the services on it, and closes them. */
async function withServices(use: (services: CommandContext) => Promise<void>): Promise<void> {
  const { config } = loadSettings()
  const { database: where } = config.current()
  const database = await openDatabase({ ...where, file: where.file ?? undefined })
  const log = createLogger('warn', process.stderr)
  const outbox = new Outbox({ database, clock: systemClock, config, log })
  const mail = new Mail({ outbox, clock: systemClock, config, counters: new DatabaseCounters(database) })
  const seal = new RecordSeal(config.current().app.secret)
  const sessionListener = new SignOut({ outbox, config, clock: systemClock, database }, seal)
  const { revokeAccess } = revocationsOf({ database, sessionListener })
  try {
    await use({ config, database, mail, now: systemClock.now(), revokeAccess, print, readPassword })
  } finally {
    await outbox.close()
    await database.close()
  }
}

async function run([word, ...words]: readonly string[]): Promise<void> {
  if (word === '--version') return print(version)
  const asksForHelp = word === undefined || ['help', '--help', '-h'].includes(word)
  const [name] = asksForHelp ? words : [word]
  if (name === undefined) return print(programHelp(commands))
  const found = findCommand(name, commands)
  const input = asksForHelp ? null : parseWords(found, words)
  if (!input) return print(commandHelp(found))
  if (found.usesDatabase) await withServices((services) => found.run(services, input))
  else await found.run({ print }, input)
}

await run(process.argv.slice(2)).catch((error) => {
  if (!(error instanceof CommandError)) exitOnError(error)
  process.stderr.write(`${forTerminal(error.message)}\n`)
  process.exit(1)
})
