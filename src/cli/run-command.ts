import { userInfo } from 'node:os'
import { createInterface } from 'node:readline'
import { features } from '../app/feature-list.ts'
import { type CommandContext, CommandError } from '../contract/command.ts'
import { subscriberOf } from '../contract/feature.ts'
import { SignOut } from '../features/oauth/protocol/session-end.ts'
import { RecordSeal } from '../features/oauth/records/record-seal.ts'
import { systemClock } from '../platform/clock.ts'
import { openDatabase } from '../platform/database/database.ts'
import { openRedis } from '../platform/database/redis.ts'
import { Dependencies } from '../platform/dependencies.ts'
import { Outbox } from '../platform/jobs/outbox.ts'
import { DatabaseCounters } from '../platform/limits/database-counters.ts'
import { RedisCounters } from '../platform/limits/redis-counters.ts'
import { Mail } from '../platform/mail/mail.ts'
import { logLibraries } from '../platform/observability/libraries.ts'
import { createLogger } from '../platform/observability/logging.ts'
import { forTerminal } from '../platform/observability/terminal.ts'
import { version } from '../platform/version.ts'
import { exitOnError, loadSettings } from '../process/boot.ts'
import { commandHelp, findCommand, parseWords, programHelp } from './command-line.ts'
import { commands } from './command-list.ts'

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

async function ask(question: string): Promise<string | null> {
  const { stdin, stderr } = process
  if (stdin.isTTY !== true) return null
  const lines = createInterface({ input: stdin, output: stderr })
  try {
    return await new Promise((resolve, reject) => {
      lines.question(question, resolve)
      // Ctrl+C and Ctrl+D abort the command.
      lines.once('close', () => reject(new CommandError('Aborted.')))
    })
  } finally {
    lines.close()
  }
}

const terminal = { print, isTerminal: process.stdout.isTTY === true, ask }

/** Name of the operating system user, or the user id if it has no name, as in some containers. */
function operatorName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}

/** The text of a log line: the output of commands is for people. */
const textOf = ({ msg, err }: { msg: string; err?: { message: string } }): string =>
  forTerminal(err ? `${msg}: ${err.message}` : msg)

/** Calls `use` with the configured database and the services on it, and closes them. */
async function withServices(use: (services: CommandContext) => Promise<void>): Promise<void> {
  const { config } = loadSettings()
  const { database: where } = config.current()
  const database = await openDatabase({ ...where, file: where.file ?? undefined })
  const log = createLogger('warn', { write: (line) => process.stderr.write(`${textOf(JSON.parse(line))}\n`) })
  logLibraries(log)
  const outbox = new Outbox({ database, clock: systemClock, config, log })
  const inDatabase = new DatabaseCounters(database)
  const redis = await openRedis(config, new Dependencies(log))
  const counters = redis ? new RedisCounters(redis, inDatabase, log) : inDatabase
  const mail = new Mail({ outbox, clock: systemClock, config, counters })
  const seal = new RecordSeal(config.current().app.secret)
  const sessionListener = new SignOut({ outbox, config, clock: systemClock, database }, seal)
  try {
    const subscriber = subscriberOf(features, { config, outbox })
    const services = { config, database, mail, subscriber, counters, sessionListener, features }
    await use({ ...services, now: systemClock.now(), operator: operatorName(), ...terminal, readPassword })
  } finally {
    await outbox.close()
    redis?.disconnect()
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
  else await found.run(terminal, input)
}

await run(process.argv.slice(2)).catch((error) => {
  if (!(error instanceof CommandError)) exitOnError(error)
  process.stderr.write(`${forTerminal(process.stderr.isTTY ? error.forPeople : error.message)}\n`)
  process.exit(1)
})
