import type { CurrentConfig } from './config/current.ts'
import type { Database, Tx } from './database/database.ts'
import type { Mail } from './mail/mail.ts'

/** Dependencies and input of a command. */
export interface CommandContext {
  config: CurrentConfig
  /** Queues notices; the server sends them. */
  mail: Pick<Mail, 'queueNotice'>
  database: Database
  now: number
  /** Revokes a user's sessions, remembered browsers, tokens and grants. */
  revokeAccess(tx: Tx, userId: number): Promise<void>
  /** Parsed options: `--email=a@b.c` and flags (true). */
  options: Record<string, string | true>
  /** Prints a line on standard output. */
  print(line: string): void
  /** Reads the password: without echo on a terminal, otherwise one line of standard input. */
  readPassword(): Promise<string>
}

/** Usage error: printed to standard error, exit code 1. */
export class CommandError extends Error {}

/** A command that a feature's `commands.ts` contributes. */
export interface Command {
  name: `svc:${string}`
  summary: string
  /** Options as shown in the usage. */
  options: readonly string[]
  run(context: CommandContext): Promise<void>
}
