import { jsonOption, printRecord, printRows } from '../../command-output.ts'
import { type CommandContext, CommandError, type CommandInput, type CommandOptions, command } from '../../commands.ts'
import { nearest } from '../../config/nearest.ts'
import type { Config } from '../../config/schema.ts'
import { randomId } from '../../crypto/random.ts'
import { metadataOf, secretHash } from './protocol/clients.ts'

const options = { json: jsonOption } as const satisfies CommandOptions

type Input = CommandInput<typeof options>

/** The facts of a client for lists. */
function factsOf(client: Config['clients'][number]) {
  const { client_id, name, type, application_type, grants, scopes, redirect_uris, first_party } = client
  const authentication = metadataOf(client).token_endpoint_auth_method
  return { client_id, name, type, application_type, authentication, grants, scopes, redirect_uris, first_party }
}

async function list(context: CommandContext, { options: { json } }: Input): Promise<void> {
  const columns = ['client_id', 'name', 'type', 'authentication', 'grants', 'scopes'] as const
  const rows = context.config.current().clients.map(factsOf)
  printRows(context, rows, { json, columns, empty: 'No clients are configured.' })
}

/** Shows a client as configured, with whether it has a secret instead of the secret. */
async function show(context: CommandContext, { options: { json }, arguments: [id = ''] }: Input): Promise<void> {
  const { clients } = context.config.current()
  const client = clients.find(({ client_id }) => client_id === id)
  if (!client) {
    const near = nearest(
      id,
      clients.map(({ client_id }) => client_id),
    )
    throw new CommandError(`Unknown client ${id}.${near ? ` Did you mean ${near}?` : ''}`)
  }
  const { secret, secret_hash, ...settings } = client
  const has_secret = secret !== undefined || secret_hash !== undefined
  printRecord(context, { ...factsOf(client), ...settings, has_secret }, json)
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
    summary: 'List the configured OAuth clients without secrets',
    options,
    run: list,
  }),
  command({
    name: 'client:show',
    summary: 'Show a configured OAuth client without its secret',
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
