import { existsSync } from 'node:fs'
import { loadSettings } from './boot.ts'
import { CommandError, type CommandInput, type CommandOptions, type Terminal, terminalCommand } from './commands.ts'
import { type Change, changesBetween } from './config/changes.ts'
import { type Loaded, loadConfig } from './config/load.ts'
import { nextConfig } from './config/next.ts'
import type { Settings } from './config/schema.ts'
import { findSnapshot, withoutSecrets } from './database/config-snapshot.ts'
import { openDatabase } from './database/database.ts'

async function check({ print }: Terminal): Promise<void> {
  const { file, warnings } = loadConfig()
  for (const warning of warnings) process.stderr.write(`${warning}\n`)
  print(`${file ?? 'No configuration file (all defaults)'}: valid`)
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

function ofFile(file: string | undefined): Base & Pick<Loaded, 'lineOf'> {
  const loaded = loadConfig({ file })
  return {
    name: loaded.file ?? 'no file (all defaults)',
    settings: withoutSecrets(loaded.settings),
    lineOf: loaded.lineOf,
  }
}

const lineOf = ({ key, what, reload, shown }: Change): string =>
  `  ${reload.padEnd(7)}  ${key}: ${shown ? `${shown.before} → ${shown.after}` : what}`

const diffOptions = {
  against: { value: 'file', description: 'Compare with this file instead of the active configuration' },
  'exit-code': { description: 'Exit with 1 if there are differences' },
} as const satisfies CommandOptions

async function diff(
  { print }: Terminal,
  { arguments: [file], options }: CommandInput<typeof diffOptions>,
): Promise<void> {
  const candidate = ofFile(file)
  const { against } = options
  const base = against === undefined ? await inForce() : ofFile(against)
  const changes = changesBetween(base.settings, candidate.settings)
  if (changes.length === 0) {
    print(`${candidate.name} is identical to ${base.name}.`)
    return
  }
  print(`${candidate.name} compared with ${base.name}:`)
  for (const change of changes) print(lineOf(change))
  const waiting = changes.filter(({ reload }) => reload === 'restart').length
  print(`${changes.length - waiting} take effect on reload, ${waiting} after a restart.`)
  const { problems } = nextConfig(base.settings, candidate)
  if (problems.length > 0) {
    print('A reload will fail, because the other changes are invalid without the ones that need a restart:')
    for (const problem of problems) print(`  ${problem}`)
  }
  if (options['exit-code']) process.exitCode = 1
}

/** Commands for the configuration file. */
export const configCommands = [
  terminalCommand({
    name: 'config:check',
    summary: 'Validate the configuration',
    details: 'Prints every error with its line, and exits with 78 if there are any.',
    options: {},
    run: check,
  }),
  terminalCommand({
    name: 'config:diff',
    summary: 'Show what a changed file will change in the active configuration',
    details: 'Marks each change that needs a restart.',
    arguments: [{ name: 'file', description: 'The changed file. By default the configured one' }],
    options: diffOptions,
    run: diff,
  }),
]
