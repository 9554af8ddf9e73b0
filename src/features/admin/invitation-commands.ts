import { CommandError, type CommandOptions, command } from '../../contract/command.ts'
import { originOf, reasonOption } from '../../contract/command-origin.ts'
import { jsonOption, printRows } from '../../contract/command-output.ts'
import { listInvitations, revokeInvitation } from '../../identity/invitations.ts'
import { pageOptions } from './command-input.ts'

const listOptions = { ...pageOptions, json: jsonOption } as const satisfies CommandOptions

const revokeOptions = {
  email: { value: 'address', required: true, description: 'The invited address' },
  ...reasonOption,
} as const satisfies CommandOptions

/** Commands that list and revoke invitations. */
export const invitationCommands = [
  command({
    name: 'invitation:list',
    summary: 'List invitations that have not been accepted or expired',
    options: listOptions,
    run: async (context, { options: { limit, after = '0', json } }) => {
      if (!/^\d{1,15}$/.test(after)) throw new CommandError('--after must be the id of an invitation.')
      const page = { after: Number(after), take: limit + 1, now: context.now }
      const found = await listInvitations(context.database, page)
      const shown = found.slice(0, limit)
      const columns = ['id', 'email', 'name', 'role', 'inviter', 'expires_at'] as const
      printRows(context, shown, { json, columns, empty: 'No invitations found.' })
      if (found.length > limit && context.isTerminal && !json) {
        context.print(`More invitations: --after=${shown.at(-1)?.id}`)
      }
    },
  }),
  command({
    name: 'invitation:revoke',
    summary: 'Revoke the invitation of an address, so that its link stops working',
    options: revokeOptions,
    run: async (context, { options }) => {
      const { database, print } = context
      const origin = originOf(context, options)
      const which = { email: options.email?.trim() ?? '' }
      if (!(await database.transaction((tx) => revokeInvitation(tx, origin, which)))) {
        throw new CommandError(`${which.email} has no invitation. "svc invitation:list" shows all.`)
      }
      print(`Revoked the invitation of ${which.email}.`)
    },
  }),
]
