import { parseArgs } from 'node:util'
import { type Command, CommandError, type CommandInput, type CommandOption } from '../contract/command.ts'
import { nearest } from '../platform/config/nearest.ts'

const help = { type: 'boolean', short: 'h' } as const

/** Finds a command by its name. The prefix `svc:` is optional. */
export function findCommand(word: string, commands: readonly Command[]): Command {
  const name = word.replace(/^svc:/, '')
  const found = commands.find((command) => command.name === name || command.aliases?.includes(name))
  if (found) return found
  const names = commands.map((command) => command.name)
  const what = word.startsWith('-') ? 'option' : 'command'
  throw new CommandError(`Unknown ${what} ${word}.${suggestion(nearest(name, names))}\nList the commands: svc --help`)
}

/** Parses the words after a command's name, or returns null if they ask for help. Throws for invalid words. */
export function parseWords(
  { name, arguments: known = [], options }: Command,
  words: readonly string[],
): CommandInput | null {
  const types = Object.entries(options).map(
    ([key, { value }]) => [key, { type: value ? 'string' : 'boolean' }] as const,
  )
  const { tokens } = parseArgs({
    args: words.map(marked),
    options: { ...Object.fromEntries(types), help },
    allowPositionals: true,
    // The messages of the strict mode neither suggest names nor say where to find help.
    strict: false,
    tokens: true,
  })
  if (tokens.some((token) => token.kind === 'option' && token.name === 'help')) return null
  const seeHelp = `\nShow the options: svc ${name} --help`
  const input: { options: Record<string, string | number | true>; arguments: string[] } = {
    options: {},
    arguments: [],
  }
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (input.arguments.length === known.length)
        throw new CommandError(`Unexpected argument ${withoutCredentials(unmarked(token.value))}.${seeHelp}`)
      input.arguments.push(unmarked(token.value))
    }
    if (token.kind !== 'option') continue
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined
    if (!option) {
      const near = nearest(token.name, Object.keys(options))
      throw new CommandError(`Unknown option ${token.rawName}.${suggestion(near && `--${near}`)}${seeHelp}`)
    }
    // `--email --name=Ada` lacks an address. A value that starts with a dash is written `--name=-x`.
    const given = token.value && unmarked(token.value)
    const value = given?.startsWith('-') && !token.inlineValue ? undefined : given
    input.options[token.name] = readValue(token.name, option, value)
  }
  const missing = known.find(({ required }, index) => required && input.arguments[index] === undefined)
  if (missing) throw new CommandError(`<${missing.name}> is missing.${seeHelp}`)
  for (const [key, { default: fallback, excludes }] of Object.entries(options)) {
    if (excludes && input.options[key] !== undefined && input.options[excludes] !== undefined) {
      throw new CommandError(`--${key} and --${excludes} cannot be combined.`)
    }
    if (fallback !== undefined) input.options[key] ??= fallback
  }
  return input as CommandInput
}

/**
 * Marks an argument that starts with a dash, such as the id of a session, so that `parseArgs` does not read it as a list of
 * short options. `-h` is the only one.
 */
const marked = (word: string): string => (/^-[^-]./.test(word) ? `\0${word}` : word)

const unmarked = (word: string): string => (word.startsWith('\0') ? word.slice(1) : word)

/** Removes user and password of a URL. */
const withoutCredentials = (word: string): string => word.replace(/:\/\/.*@/s, '://…@')

function readValue(name: string, option: CommandOption, given: string | undefined): string | number | true {
  const { value, choices, range } = option
  if (!value) {
    if (given === undefined) return true
    throw new CommandError(`--${name} does not take a value.`)
  }
  if (given === undefined) throw new CommandError(`--${name} requires a value: --${name}=<${value}>`)
  if (choices && !choices.includes(given)) {
    throw new CommandError(`--${name} must be one of ${choices.join(', ')}, got "${given}".`)
  }
  if (!range) return given
  const [minimum, maximum] = range
  if (/^\d+$/.test(given) && Number(given) >= minimum && Number(given) <= maximum) return Number(given)
  throw new CommandError(`--${name} must be an integer from ${minimum} to ${maximum}, got "${given}".`)
}

const suggestion = (name: string | undefined): string => (name ? ` Did you mean ${name}?` : '')

const spelling = (name: string, { value }: Pick<CommandOption, 'value'>): string =>
  value ? `--${name}=<${value}>` : `--${name}`

/** Returns the spelling and description of each argument and option. */
export function describeInput({
  arguments: known = [],
  options,
}: Command): (readonly [spelling: string, description: string])[] {
  const ofOptions = Object.entries(options).map(([name, option]) => {
    const { description, choices, default: fallback, excludes } = option
    const notes = [
      choices && `one of ${choices.join(', ')}`,
      fallback !== undefined && `default: ${fallback}`,
      excludes && `cannot be combined with --${excludes}`,
    ].filter(Boolean)
    return [spelling(name, option), notes.length > 0 ? `${description} (${notes.join('; ')})` : description] as const
  })
  return [...known.map((each) => [`<${each.name}>`, each.description] as const), ...ofOptions]
}

/** Returns the usage line of a command. */
export function usageOf({ name, arguments: known = [], options }: Command): string {
  const all = Object.entries(options)
  const required = all.filter(([, option]) => option.required).map(([key, option]) => spelling(key, option))
  const named = known.map((each) => (each.required ? `<${each.name}>` : `[<${each.name}>]`))
  const parts = [name, ...named, ...required, all.length > required.length && '[options]']
  return `svc ${parts.filter(Boolean).join(' ')}`
}

const columns = (rows: readonly (readonly [string, string])[]): string[] => {
  const width = Math.max(...rows.map(([first]) => first.length))
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`)
}

/** Returns the help of one command. */
export function commandHelp(command: Command): string {
  const { summary, details } = command
  return [
    `Usage: ${usageOf(command)}`,
    '',
    `${summary}.${details ? ` ${details}` : ''}`,
    '',
    ...columns([...describeInput(command), ['-h, --help', 'Show this help']]),
  ].join('\n')
}

/** Returns the help of the program. */
export function programHelp(commands: readonly Command[]): string {
  return [
    'Usage: svc <command> [options]',
    '',
    'Commands:',
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    '',
    'Options:',
    ...columns([
      ['-h, --help', 'Show this help, or with a command: its arguments and options'],
      ['--version', 'Print the version'],
    ]),
  ].join('\n')
}
