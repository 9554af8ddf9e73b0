import {
  CommandError,
  type CommandInput,
  type CommandOptions,
  type Terminal,
  terminalCommand,
} from '../contract/command.ts'
import { jsonOption, printRows } from '../contract/command-output.ts'
import { type Change, changesBetween } from '../platform/config/changes.ts'
import { configPath, loadConfig, runDirectory } from '../platform/config/load.ts'
import { nextConfig } from '../platform/config/next.ts'
import { shownValues } from '../platform/config/shown.ts'
import type { ShownValue } from '../platform/config/shown-value.ts'
import { forTerminal } from '../platform/observability/terminal.ts'
import { reloadServers, type ServerAnswer } from '../process/control/client.ts'
import { RunDirectory } from '../process/control/run-directory.ts'
import { againstOption, baseOf, ofFile } from './base-configuration.ts'
import { findingsInData } from './check-data.ts'

const checkOptions = {
  data: { description: 'Also read all users, and compare what is stored with users.fields and groups' },
} as const satisfies CommandOptions

async function check(
  { print }: Terminal,
  { options, arguments: [given] }: CommandInput<typeof checkOptions>,
): Promise<void> {
  const { config, file, others, warnings } = loadConfig({ file: given })
  for (const warning of warnings) process.stderr.write(`${forTerminal(warning)}\n`)
  print(`${[file ?? 'No configuration file (all defaults)', ...others].join(', ')}: valid`)
  if (!options.data) return
  const findings = await findingsInData(config)
  if (findings.length > 0) throw new CommandError(findings.join('\n'))
  print('The stored data fits.')
}

const lineOf = ({ key, what, reload, shown }: Change): string =>
  `  ${reload.padEnd(7)}  ${key}: ${shown ? `${shown.before} → ${shown.after}` : what}`

const diffOptions = {
  ...againstOption,
  'exit-code': { description: 'Exit with 1 if there are differences' },
} as const satisfies CommandOptions

async function diff(
  { print }: Terminal,
  { arguments: [file], options }: CommandInput<typeof diffOptions>,
): Promise<void> {
  const candidate = ofFile(file)
  const base = await baseOf(options.against)
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

const showOptions = {
  json: jsonOption,
  all: { description: 'Also values that were not set' },
} as const satisfies CommandOptions

function show(terminal: Terminal, { options, arguments: [below] }: CommandInput<typeof showOptions>): void {
  const loaded = loadConfig()
  for (const warning of loaded.warnings) process.stderr.write(`${forTerminal(warning)}\n`)
  const isBelow = (key: string) => below === undefined || key === below || /^[.[]/.test(key.slice(below.length))
  const named = shownValues(loaded).filter(({ key }) => key.startsWith(below ?? '') && isBelow(key))
  if (below !== undefined && named.length === 0) throw new CommandError(`${below} is not a key of the configuration.`)
  // A named section without values of its own shows its defaults.
  const set = named.filter(({ source }) => source !== 'default')
  const shown = options.all || below !== undefined ? named : set
  printRows(terminal, shown.map(options.json || !terminal.isTerminal ? (row) => row : forTable), {
    json: options.json,
    columns: ['key', 'value', 'source'],
    empty: 'No value is set (all defaults).',
  })
}

const forTable = ({ key, value, isSecret, source, file, line, variable }: ShownValue): ShownValue => ({
  key,
  value: isSecret ? '(secret)' : typeof value === 'string' ? value : JSON.stringify(value),
  isSecret,
  source:
    file === null
      ? [source, variable].filter(Boolean).join(' ')
      : `${file}:${line}${variable ? ' with variables' : ''}`,
  file,
  line,
  variable,
})

const reloadOptions = { json: { description: 'Print JSON, one object per server' } } as const satisfies CommandOptions

async function reload({ print }: Terminal, { options }: CommandInput<typeof reloadOptions>): Promise<void> {
  const answers = await reloadServers(new RunDirectory(runDirectory(), configPath())).catch((error: Error) => {
    throw new CommandError(`The configuration was not reloaded: ${error.message}.`)
  })
  if (answers.length === 0) {
    throw new CommandError(
      `No running server uses ${configPath()}. Run this command where svc runs, as the same user, and with the same ` +
        'SVC_CONFIG, SVC_RUN_DIR and working directory.',
    )
  }
  for (const answer of answers) {
    if (options.json) print(JSON.stringify(answer))
    else printAnswer(print, answer)
  }
  if (answers.some(({ accepted }) => !accepted)) process.exitCode = 78
}

function printAnswer(print: Terminal['print'], answer: ServerAnswer): void {
  const server = `svc (process ${answer.pid})`
  if (!answer.accepted) {
    const lines = answer.problems.map((problem) => `  ${forTerminal(problem)}`)
    process.stderr.write(`${server} rejected the configuration and keeps the active one:\n${lines.join('\n')}\n`)
    return
  }
  const { changed, waiting, warnings } = answer
  print(
    `${server} reloaded the configuration. ${changed.length > 0 ? `Changed: ${changed.join(', ')}` : 'No key changed.'}`,
  )
  if (waiting.length > 0) print(`  Restart required for: ${waiting.join(', ')}`)
  for (const warning of warnings) process.stderr.write(`${forTerminal(warning)}\n`)
}

/** Commands for the configuration file. */
export const configCommands = [
  terminalCommand({
    name: 'config:check',
    summary: 'Validate the configuration',
    details:
      'Prints every error with its line, and exits with 78 if there are any. Warns about probable mistakes, such as texts and ' +
      'templates with unknown names. With --data, exits with 1 if stored values do not fit; they stay as they are.',
    arguments: [{ name: 'file', description: 'The file. By default the configured one' }],
    options: checkOptions,
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
  terminalCommand({
    name: 'config:show',
    summary: 'Show the configuration without secrets, and where each value was set',
    details:
      'Reads the configuration file, the files that it names, and the environment, as a server that starts now. Prints values ' +
      'that are not defaults. config:diff shows what a running server uses.',
    arguments: [{ name: 'key', description: 'Show all values of this key or section, such as oauth or clients[0]' }],
    options: showOptions,
    run: async (terminal, input) => show(terminal, input),
  }),
  terminalCommand({
    name: 'config:reload',
    summary: 'Make the running server reload its configuration',
    details:
      'Asks the servers on this machine that use the same configuration file, and prints what changed. Exits with 78 if a ' +
      'server rejects the configuration, and with 1 if no server runs.',
    options: reloadOptions,
    run: reload,
  }),
]
