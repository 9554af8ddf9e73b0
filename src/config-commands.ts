import { existsSync } from 'node:fs'
import { loadSettings } from './boot.ts'
import { CommandError } from './commands.ts'
import { type Change, changesBetween } from './config/changes.ts'
import { loadConfig } from './config/load.ts'
import { nextConfig } from './config/next.ts'
import type { Settings } from './config/schema.ts'
import { findSnapshot, withoutSecrets } from './database/config-snapshot.ts'
import { openDatabase } from './database/database.ts'

/** A command that needs no server. Returns the exit code. */
interface ConfigCommand {
  name: `svc:${string}`
  summary: string
  /** Options as shown in the usage. An option without dashes is positional, with the name `word`. */
  options: readonly string[]
  run(options: Record<string, string | true>, print: (line: string) => void): Promise<number>
}

async function check(_options: object, print: (line: string) => void): Promise<number> {
  const { file, warnings } = loadConfig()
  for (const warning of warnings) process.stderr.write(`${warning}\n`)
  print(`${file ?? 'No configuration file (all defaults)'}: valid`)
  return 0
}

/** Configuration to compare with. */
interface Base {
  name: string
  settings: Settings
}

async function inForce(): Promise<Base> {
  const { config } = loadSettings()
  const { app, database: where } = config.current()
  const never = 'No server has saved its configuration in this database yet. Compare with a file: --against=<file>.'
  if (where.file !== null && !existsSync(where.file)) throw new CommandError(never)
  const database = await openDatabase({ ...where, file: where.file ?? undefined })
  try {
    const found = await findSnapshot(database, app.secret)
    if (!found) throw new CommandError(never)
    if (!found.settings) {
      throw new CommandError(
        'The active configuration was saved with another app.secret. Compare with a file: --against=<file>.',
      )
    }
    return { name: `the configuration active since ${found.appliedAt.toISOString()}`, settings: found.settings }
  } finally {
    await database.close()
  }
}

function ofFile(file: string | undefined): Base {
  const loaded = loadConfig({ file })
  return { name: loaded.file ?? 'no file (all defaults)', settings: withoutSecrets(loaded.settings) }
}

const lineOf = ({ key, what, reload, shown }: Change): string =>
  `  ${reload.padEnd(7)}  ${key}: ${shown ? `${shown.before} → ${shown.after}` : what}`

async function diff(options: Record<string, string | true>, print: (line: string) => void): Promise<number> {
  const textOf = (name: string) => (typeof options[name] === 'string' ? options[name] : undefined)
  const candidate = ofFile(textOf('word'))
  const against = textOf('against')
  const base = against === undefined ? await inForce() : ofFile(against)
  const changes = changesBetween(base.settings, candidate.settings)
  if (changes.length === 0) {
    print(`${candidate.name} is identical to ${base.name}.`)
    return 0
  }
  print(`${candidate.name} compared with ${base.name}:`)
  for (const change of changes) print(lineOf(change))
  const waiting = changes.filter(({ reload }) => reload === 'restart').length
  print(`${changes.length - waiting} take effect on reload, ${waiting} after a restart.`)
  const { problems } = nextConfig(base.settings, candidate.settings)
  if (problems.length > 0) {
    print('A reload will fail, because the other changes are invalid without the ones that need a restart:')
    for (const problem of problems) print(`  ${problem}`)
  }
  return options['exit-code'] ? 1 : 0
}

/** Commands for the configuration file. */
export const configCommands: readonly ConfigCommand[] = [
  {
    name: 'svc:config:check',
    summary: 'Validate the configuration; print all errors and exit with 78 if it is invalid',
    options: [],
    run: check,
  },
  {
    name: 'svc:config:diff',
    summary:
      'Show what a file (default: the configured one) changes in the active configuration, and whether it needs a restart',
    options: ['[<file>]', '[--against=<file>]', '[--exit-code]'],
    run: diff,
  },
]
