import { features } from '../../src/app/feature-list.ts'
import { parseWords } from '../../src/cli/command-line.ts'
import { commands } from '../../src/cli/command-list.ts'
import type { CommandContext } from '../../src/contract/command.ts'
import { DatabaseCounters } from '../../src/platform/limits/database-counters.ts'
import type { TestApp } from './app.ts'

/** Runs a command with services of the test, as the CLI does in a separate process; returns its output. */
export async function runCommand(
  services: Pick<CommandContext, 'config' | 'database' | 'now'> & Partial<CommandContext>,
  name: string,
  ...words: string[]
): Promise<string[]> {
  const command = commands.find((candidate) => [candidate.name, ...(candidate.aliases ?? [])].includes(name))
  const input = command && parseWords(command, words)
  if (!input) throw new Error(`There is no command ${name}.`)
  const lines: string[] = []
  await command.run(
    {
      mail: { queue: async () => undefined, queueNotice: async () => undefined },
      counters: new DatabaseCounters(services.database),
      sessionListener: {
        concerns: () => false,
        usersOf: async () => [],
        began: async () => undefined,
        ended: async () => undefined,
      },
      features,
      operator: 'tester',
      isTerminal: false,
      ask: async () => null,
      readPassword: async () => '',
      subscriber: { wants: () => false, add: async () => undefined },
      print: (line) => void lines.push(line),
      ...services,
    },
    input,
  )
  return lines
}

/** Runs a command that opens the databases itself. */
export async function runTerminalCommand(name: string, ...words: string[]): Promise<string[]> {
  const command = commands.find((candidate) => candidate.name === name)
  const input = command && parseWords(command, words)
  if (!input || command.usesDatabase) throw new Error(`There is no command ${name} without a context.`)
  const lines: string[] = []
  await command.run({ isTerminal: false, ask: async () => null, print: (line) => void lines.push(line) }, input)
  return lines
}

/** Runs a command on the database of an app. */
export const runCommandOn = (svc: TestApp, name: string, ...words: string[]): Promise<string[]> =>
  runCommand(
    {
      config: svc.config,
      database: svc.database,
      now: svc.clock.now(),
      mail: svc.app.mail,
      subscriber: svc.app.subscriber,
      counters: svc.app.counters,
      sessionListener: svc.app.sessionListener,
    },
    name,
    ...words,
  )

/** Disables or enables the account of an address. */
export const setDisabled = async (svc: TestApp, email: string, isDisabled: boolean): Promise<void> =>
  void (await runCommandOn(svc, 'user:update', `--email=${email}`, isDisabled ? '--disable' : '--enable'))
