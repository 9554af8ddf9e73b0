import type { TestApp } from '../../support/app.ts'
import { runCommandOn } from '../../support/command.ts'

/** Invites an address on the command line, and returns the path of the mailed link. */
export async function invited(svc: TestApp, email: string, ...words: string[]): Promise<string> {
  await runCommandOn(svc, 'user:invite', `--email=${email}`, ...words)
  return svc.mailbox.find(email, /http:\/\/localhost:8000(\/oauth\/invitation\/\S+)/)
}

/** The token of a link. */
export const tokenOf = (link: string): string => link.slice(link.lastIndexOf('/') + 1)

export const email = 'grace@example.com'
export const typed = { name: 'Grace Hopper', password: 'compilers are useful' }
