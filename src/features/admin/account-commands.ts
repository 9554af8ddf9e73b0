import { type CommandContext, CommandError, command } from '../../contract/command.ts'
import { originOf, reasonOption } from '../../contract/command-origin.ts'
import { canonicalEmail, type User } from '../../identity/user.ts'
import { hashPassword } from '../../platform/crypto/password.ts'
import { attempt, newPassword, requireTarget, userOptions, warnOfPassword } from './command-input.ts'
import { changeUser, endSessions, makeResetLink, removeUser, replacePassword, unlockUser } from './users.ts'

const options = { ...userOptions, ...reasonOption } as const

/** Asks the operator to type the address. Requires --yes without a terminal. */
async function confirmDeletion({ ask }: CommandContext, { email }: User, isConfirmed: boolean): Promise<void> {
  if (isConfirmed) return
  const typed = await ask(`This deletes ${email} and all its data. Type the address to continue: `)
  if (typed === null) throw new CommandError('Deleting a user requires --yes if standard input is not a terminal.')
  if (canonicalEmail(typed) !== email) throw new CommandError('The address does not match. Nothing was deleted.')
}

const disableOrEnable = (isDisabled: boolean) =>
  command({
    name: isDisabled ? 'user:disable' : 'user:enable',
    summary: isDisabled
      ? 'Disable an account, and revoke its sessions, tokens and grants'
      : 'Enable an account. Does not restore what user:disable revoked',
    options,
    run: async (context, { options: given }) => {
      const { id } = await requireTarget(context, given)
      const { disabled, ...user } = await attempt(
        changeUser(context, originOf(context, given), id, { disabled: isDisabled }),
      )
      context.print(JSON.stringify({ ...user, disabled }))
    },
  })

/** Commands that change one account. */
export const accountCommands = [
  command({
    name: 'user:set-password',
    summary: 'Set the password of a user',
    details:
      'Prompts for the password, or reads one line from standard input. Ends the sessions and the access of applications, as a password reset does, and mails a notice.',
    options,
    run: async (context, { options: given }) => {
      const { id } = await requireTarget(context, given)
      const password = await newPassword(context)
      await attempt(replacePassword(context, originOf(context, given), id, hashPassword(password)))
      context.print('Password set.')
      warnOfPassword(context, password)
    },
  }),
  command({
    name: 'user:reset-link',
    summary: 'Print a link with which a user sets a new password',
    details:
      'The link works once, for passwords.reset_expires, and replaces an earlier one. Using it marks the address as verified, as with a mailed link.',
    options: { ...options, mail: { description: 'Mail the link to the user, and do not print it' } },
    run: async (context, { options: given }) => {
      const { id } = await requireTarget(context, given)
      const mail = given.mail === true
      const link = await attempt(makeResetLink(context, originOf(context, given), id, { mail }))
      context.print(mail ? 'Link mailed.' : link)
    },
  }),
  command({
    name: 'user:logout',
    summary: 'End the sessions of a user, and forget the remembered and the trusted browsers',
    details: 'Tokens stay: token:revoke --all revokes them.',
    options,
    run: async (context, { options: given }) => {
      const { id } = await requireTarget(context, given)
      const count = await attempt(endSessions(context, originOf(context, given), id))
      context.print(`${count} session${count === 1 ? '' : 's'} ended.`)
    },
  }),
  disableOrEnable(true),
  disableOrEnable(false),
  command({
    name: 'user:delete',
    summary: 'Delete a user and all data of the account',
    details:
      'Works like a deletion by the user: revokes everything, removes personal data from the audit trail, and mails a notice to a verified address. Asks for confirmation.',
    options: { ...options, yes: { description: 'Do not ask for confirmation' } },
    run: async (context, { options: given }) => {
      const user = await requireTarget(context, given)
      const origin = originOf(context, given)
      await confirmDeletion(context, user, given.yes === true)
      await attempt(removeUser(context, origin, user.id))
      context.print('User deleted.')
    },
  }),
  command({
    name: 'user:unlock',
    summary: 'Forget the failed sign-ins of a user, so that the account is no longer locked',
    details: 'Limits of an address over all accounts (rate_limits.login_address) stay.',
    options,
    run: async (context, { options: given }) => {
      const { id } = await requireTarget(context, given)
      await attempt(unlockUser(context, originOf(context, given), id))
      context.print('Account unlocked.')
    },
  }),
]
