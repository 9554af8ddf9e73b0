#!/usr/bin/env node
import { createInterface } from 'node:readline'
import { accountsOf } from './accounts.ts'
import { exitOnError, loadSettings } from './boot.ts'
import { systemClock } from './clock.ts'
import { type Command, CommandError } from './commands.ts'
import { configCommands } from './config-commands.ts'
import { openDatabase } from './database/database.ts'
import { clientCommands } from './features/oauth/commands.ts'
import { keyCommands } from './features/oauth/keys/commands.ts'
import { RecordSeal } from './features/oauth/protocol/record-seal.ts'
import { SignOut } from './features/oauth/protocol/session-end.ts'
import { tokenCommands } from './features/tokens/commands.ts'
import { Outbox } from './jobs/outbox.ts'
import { FailureLimits } from './login/failure-limits.ts'
import { Mail } from './mail/mail.ts'
import { createLogger } from './observability/logging.ts'
import { forTerminal } from './observability/terminal.ts'
import { userCommands } from './users/commands.ts'

const commands: readonly Command[] = [...userCommands, ...tokenCommands, ...clientCommands, ...keyCommands]

const print = (line: string): void => void process.stdout.write(`${forTerminal(line)}\n`)

// Readers such as `head` may close the pipe early.
process.stdout.on('error', () => process.exit())

const usage = (): string =>
  [
    'Usage: svc <command> [options]',
    '',
    ...[...configCommands, ...commands].flatMap(({ name, options, summary }) => [
      `  ${name.replace(/^svc:/, '')} ${options.join(' ')}`.trimEnd(),
      `      ${summary}`,
    ]),
  ].join('\n')

/** Parses `--name=value`, `--flag` and, for commands that take one, a positional `word`. Throws for anything else. */
function parseOptions(words: readonly string[], command: Pick<Command, 'options'>): Record<string, string | true> {
  const known = new Set(command.options.map((option) => /--([\w-]+)/.exec(option)?.[1]))
  const takesWord = command.options.some((option) => !option.includes('--'))
  const options: Record<string, string | true> = {}
  for (const word of words) {
    if (takesWord && options.word === undefined && !word.startsWith('-')) {
      options.word = word
      continue
    }
    const match = /^--([\w-]+)(?:=(.*))?$/s.exec(word)
    const name = match?.[1]
    if (!name || !known.has(name)) throw new CommandError(`Unknown option ${word}.\n\n${usage()}`)
    const takesValue = command.options.some((option) => option.includes(`--${name}=`))
    if (takesValue !== (match?.[2] !== undefined)) {
      throw new CommandError(
        takesValue ? `--${name} requires a value: --${name}=…` : `--${name} does not take a value.`,
      )
    }
    options[name] = match?.[2] ?? true
  }
  return options
}

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

async function run([word, ...words]: readonly string[]): Promise<void> {
  if (word === undefined || word === 'help' || word === '--help') return print(usage())
  const name = word.startsWith('svc:') ? word : `svc:${word}`
  const ofConfig = configCommands.find((candidate) => candidate.name === name)
  if (ofConfig) {
    process.exitCode = await ofConfig.run(parseOptions(words, ofConfig), print)
    return
  }
  const command = commands.find((candidate) => candidate.name === name)
  if (!command) throw new CommandError(`Unknown command ${word}.\n\n${usage()}`)
  const options = parseOptions(words, command)
  const { config } = loadSettings()
  const { database: where } = config.current()
  const database = await openDatabase({ ...where, file: where.file ?? undefined })
  const log = createLogger('warn', process.stderr)
  const outbox = new Outbox({ database, clock: systemClock, config, log })
  const mail = new Mail({ outbox, clock: systemClock, config, limits: new FailureLimits(database) })
  const seal = new RecordSeal(config.current().app.secret)
  const sessionListener = new SignOut({ outbox, config, clock: systemClock, database }, seal)
  const { revokeAccess } = accountsOf({ database, sessionListener })
  try {
    await command.run({ config, database, mail, now: systemClock.now(), revokeAccess, options, print, readPassword })
  } finally {
    await outbox.close()
    await database.close()
  }
}

await run(process.argv.slice(2)).catch((error) => {
  if (!(error instanceof CommandError)) exitOnError(error)
  process.stderr.write(`${forTerminal(error.message)}\n`)
  process.exit(1)
})
