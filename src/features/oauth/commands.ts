import { type CommandContext, command } from '../../commands.ts'
import { randomId } from '../../crypto/random.ts'
import { metadataOf, secretHash } from './protocol/clients.ts'

async function list({ config, print }: CommandContext): Promise<void> {
  for (const client of config.current().clients) {
    const { client_id, name, type, application_type, grants, scopes, redirect_uris, first_party } = client
    const authentication = metadataOf(client).token_endpoint_auth_method
    const facts = {
      client_id,
      name,
      type,
      application_type,
      authentication,
      grants,
      scopes,
      redirect_uris,
      first_party,
    }
    print(JSON.stringify(facts))
  }
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
    summary: 'List the configured OAuth clients without secrets, one JSON object per line',
    options: {},
    run: list,
  }),
  command({
    name: 'client:secret',
    summary: 'Generate a client secret and its hash for the configuration; stores nothing',
    options: {},
    run: makeSecret,
  }),
]
