import {
  type CommandContext,
  CommandError,
  type CommandInput,
  type CommandOptions,
  command,
} from '../../../contract/command.ts'
import { jsonOption, printRecord, printRows } from '../../../contract/command-output.ts'
import { nearest } from '../../../platform/config/nearest.ts'
import { randomId } from '../../../platform/crypto/random.ts'
import { findClient, listClients } from './client-facts.ts'
import { secretHash } from './clients.ts'

const options = { json: jsonOption } as const satisfies CommandOptions

type Input = CommandInput<typeof options>

async function list(context: CommandContext, { options: { json } }: Input): Promise<void> {
  const columns = ['client_id', 'name', 'type', 'authentication', 'grants', 'scopes', 'last_used_at'] as const
  const rows = await listClients(context)
  printRows(context, rows, { json, columns, empty: 'No clients are configured.' })
}

async function show(context: CommandContext, { options: { json }, arguments: [id = ''] }: Input): Promise<void> {
  const client = await findClient(context, id)
  if (!client) {
    const { clients } = context.config.current()
    const near = nearest(
      id,
      clients.map(({ client_id }) => client_id),
    )
    throw new CommandError(
      `Unknown client ${id}.${near ? ` Did you mean ${near}?` : ''}\nList the clients: svc client:list`,
    )
  }
  printRecord(context, client, json)
}

async function makeSecret({ print }: CommandContext): Promise<void> {
  const secret = randomId()
  print(`Client secret (shown only once): ${secret}`)
  print(`Configuration: secret_hash: ${secretHash(secret)}`)
}

/** Commands for OAuth clients. */
export const clientCommands = [
  command({
    name: 'client:list',
    summary: 'List the configured OAuth clients, and the unregistered ones that got tokens, without secrets',
    details: 'Only unregistered clients have a time of their last use. Those are clients of oauth.client_id_metadata.',
    options,
    run: list,
  }),
  command({
    name: 'client:show',
    summary: 'Show an OAuth client without its secret',
    arguments: [{ name: 'client_id', description: 'The client_id', required: true }],
    options,
    run: show,
  }),
  command({
    name: 'client:secret',
    summary: 'Generate a client secret and its hash for the configuration; stores nothing',
    options: {},
    run: makeSecret,
  }),
]
