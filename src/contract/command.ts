import type { AccountHooks } from '../auth/accounts.ts'
import type { SessionListener } from '../auth/sign-in/session-listener.ts'
import type { CurrentConfig } from '../platform/config/current.ts'
import type { Database } from '../platform/database/database.ts'
import type { EventSubscriber } from '../platform/jobs/event-subscriber.ts'
import type { Counters } from '../platform/limits/counters.ts'
import type { Mail } from '../platform/mail/mail.ts'

/** Option of a command. Without `value` it is a flag. */
export interface CommandOption {
  description: string
  /** Placeholder of the value in the help, such as `address`. */
  value?: string
  /** Allowed values. */
  choices?: readonly string[]
  /** Range of an integer. */
  range?: readonly [minimum: number, maximum: number]
  default?: number
  /** Shown in the usage. The command itself reports a missing value, in the same words as the API. */
  required?: true
  /** Option that cannot be combined with this one. */
  excludes?: string
}

/** Positional argument of a command. */
interface CommandArgument {
  name: string
  description: string
  required?: true
}

export type CommandOptions = Readonly<Record<string, CommandOption>>

/** Option of lists that have no table, so that scripts can pass it to every list. */
export const alwaysJsonOption = { description: 'Has no effect: the output is always JSON, one object per line' }

type OptionValue<Option extends CommandOption> = Option extends { range: readonly unknown[] }
  ? number
  : Option extends { choices: readonly (infer Choice)[] }
    ? Choice
    : Option extends { value: string }
      ? string
      : true

type WithDefault<Options extends CommandOptions> = {
  [Name in keyof Options]: Options[Name] extends { default: number } ? Name : never
}[keyof Options]

/** Parsed command line of a command. */
export interface CommandInput<Options extends CommandOptions = CommandOptions> {
  options: { readonly [Name in keyof Options]?: OptionValue<Options[Name]> } & {
    readonly [Name in WithDefault<Options>]: OptionValue<Options[Name]>
  }
  /** In the order of the command line. */
  arguments: readonly string[]
}

/** What every command can use. */
export interface Terminal {
  /** Prints a line on standard output. */
  print(line: string): void
  /** Whether standard output is a terminal. */
  isTerminal: boolean
  /** Asks a question on the terminal; null if standard input is not a terminal. */
  ask(question: string): Promise<string | null>
}

/** Dependencies of a command that uses the database. */
export interface CommandContext extends Terminal {
  config: CurrentConfig
  /** Queues mail; the server sends it. */
  mail: Pick<Mail, 'queue' | 'queueNotice'>
  database: Database
  /** Queues webhook messages; the server sends them. */
  subscriber: EventSubscriber
  now: number
  /** Counters of the limits, which the server uses too. */
  counters: Counters
  sessionListener: SessionListener
  features: readonly AccountHooks[]
  /** Name of the operating system user who runs the command, for the audit trail. */
  operator: string
  /** Reads the password: without echo on a terminal, otherwise one line of standard input. */
  readPassword(): Promise<string>
}

/** A command as its module declares it: the source of parsing, help, errors and docs/commands.md. */
export interface Declaration<Context extends Terminal, Options extends CommandOptions = CommandOptions> {
  name: string
  /** Earlier names, which still work. */
  aliases?: readonly string[]
  summary: string
  /** More about the command, for its help. */
  details?: string
  arguments?: readonly CommandArgument[]
  options: Options
  run(context: Context, input: CommandInput<Options>): Promise<void>
}

export type Command =
  | (Declaration<CommandContext> & { usesDatabase: true })
  | (Declaration<Terminal> & { usesDatabase: false })

/** Makes a command of its declaration, which infers the types of its options. */
export const command = <const Options extends CommandOptions>(
  declared: Declaration<CommandContext, Options>,
): Command => ({ ...declared, usesDatabase: true })

/** The same for a command that does not use the database. */
export const terminalCommand = <const Options extends CommandOptions>(
  declared: Declaration<Terminal, Options>,
): Command => ({ ...declared, usesDatabase: false })

/** Error that the user of a command can fix: printed to standard error, exit code 1. */
export class CommandError extends Error {
  /** What a terminal shows instead of a message for programs. */
  readonly forPeople: string

  constructor(message: string, forPeople = message) {
    super(message)
    this.forPeople = forPeople
  }
}
