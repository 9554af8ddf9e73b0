import { accountsOf } from '../../src/accounts.ts'
import { userCommands } from '../../src/users/commands.ts'
import type { TestApp } from './app.ts'

/** Runs a user command against the database of an app, as the CLI does in a separate process; returns its output. */
export async function runUserCommand(
  { app, config, database, clock }: TestApp,
  name: `svc:user:${string}`,
  options: Record<string, string | true>,
): Promise<string[]> {
  const command = userCommands.find((candidate) => candidate.name === name)
  if (!command) throw new Error(`There is no command ${name}.`)
  const lines: string[] = []
  await command.run({
    config,
    mail: app.mail,
    database,
    now: clock.now(),
    revokeAccess: accountsOf(app).revokeAccess,
    options,
    print: (line) => void lines.push(line),
    readPassword: () => Promise.resolve(''),
  })
  return lines
}

/** Disables or enables the account of an address. */
export const setDisabled = async (svc: TestApp, email: string, isDisabled: boolean): Promise<void> =>
  void (await runUserCommand(svc, 'svc:user:update', { email, [isDisabled ? 'disable' : 'enable']: true }))
