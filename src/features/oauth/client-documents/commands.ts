import { CommandError, type CommandOptions, command } from '../../../contract/command.ts'
import { originOf, reasonOption } from '../../../contract/command-origin.ts'
import { jsonOption, printRows } from '../../../contract/command-output.ts'
import { wireDate } from '../../../identity/wire-date.ts'
import { block, hostOfText, unblock } from './blocks.ts'
import { listBlockedHosts } from './store.ts'

const hostArgument = {
  name: 'host',
  description: 'The host, or the client_id of one of its clients',
  required: true,
} as const

const options = { ...reasonOption } as const satisfies CommandOptions

const listOptions = { json: jsonOption } as const satisfies CommandOptions

function requireHost(text = ''): string {
  const host = hostOfText(text)
  if (host === null)
    throw new CommandError(`"${text}" is not a host. Give a name such as app.example.com, without a port.`)
  return host
}

/** Commands for hosts of clients that nobody registered. */
export const blockCommands = [
  command({
    name: 'client:block',
    summary: 'Refuse the unregistered clients of a host and its subdomains',
    details:
      'For clients that identify themselves by the URL of a metadata document (oauth.client_id_metadata). svc no longer accepts their tokens either. APIs that verify tokens themselves accept those until they expire.',
    arguments: [hostArgument],
    options,
    run: async (context, { options: given, arguments: [text] }) => {
      const host = requireHost(text)
      const isNew = await block(context.database, originOf(context, given), host)
      context.print(isNew ? `Blocked ${host} and its subdomains.` : `${host} is blocked already.`)
    },
  }),
  command({
    name: 'client:unblock',
    summary: 'Accept the unregistered clients of a host again',
    arguments: [hostArgument],
    options,
    run: async (context, { options: given, arguments: [text] }) => {
      const host = requireHost(text)
      if (!(await unblock(context.database, originOf(context, given), host))) {
        throw new CommandError(`${host} is not blocked. "svc client:blocked" lists the blocked hosts.`)
      }
      context.print(`${host} is no longer blocked. Its tokens work again unless they have expired.`)
    },
  }),
  command({
    name: 'client:blocked',
    summary: 'List the hosts that client:block blocked',
    options: listOptions,
    run: async (context, { options: { json } }) => {
      const hosts = await listBlockedHosts(context.database)
      const rows = hosts.map(({ host, createdAt }) => ({ host, blocked_at: wireDate(createdAt) }))
      printRows(context, rows, { json, columns: ['host', 'blocked_at'], empty: 'No hosts are blocked.' })
    },
  }),
]
