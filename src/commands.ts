import type { CurrentConfig } from './config/current.ts'
import type { Database, Tx } from './database/database.ts'
import type { Mail } from './mail/mail.ts'

/** What a command works with. */
export interface CommandContext {
  config: CurrentConfig
  /** Queues notices, which the server sends. */
  mail: Pick<Mail, 'queueNotice'>
  database: Database
  now: number
  /** Revokes a user's sessions, remembered browsers, tokens and grants. */
  revokeAccess(tx: Tx, userId: number): Promise<void>
  /** The options after the command's name: `--email=a@b.c` and flags (true). */
  options: Record<string, string | true>
  /** Prints a line on standard output. */
  print(line: string): void
  /** The password: asked without echo on a terminal, else one line of standard input. */
  readPassword(): Promise<string>
}

/** Thrown for what the user of a command did wrong: printed on standard error, exit 1. */
export class CommandError extends Error {}

/** A command, as its `commands.ts` offers it. */
export interface Command {
  name: `svc:${string}`
  summary: string
  /** The options it takes, as the usage shows them. */
  options: readonly string[]
  run(context: CommandContext): Promise<void>
}
