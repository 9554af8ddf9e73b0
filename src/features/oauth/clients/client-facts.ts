import { wireDate } from '../../../identity/wire-date.ts'
import type { CurrentConfig } from '../../../platform/config/current.ts'
import type { Config } from '../../../platform/config/schema.ts'
import type { Database } from '../../../platform/database/database.ts'
import { claimedName } from '../client-documents/document.ts'
import type { UsedClient } from '../client-documents/store.ts'
import { findUsedClient, listUsedClients } from '../client-documents/store.ts'
import { metadataOf, type RegisteredClient, Registry, secretHashesOf } from './clients.ts'
import { secretUses } from './secret-store.ts'

/** Maximum number of clients in a list that nobody registered. */
const maxListed = 1_000

interface Parts {
  config: CurrentConfig
  database: Database
}

/** Returns the registered clients in their order, and those that got tokens although nobody registered them, the latest first. */
export async function listClients({ config, database }: Parts) {
  const current = config.current()
  const registry = new Registry(current)
  const used = await listUsedClients(database, maxListed)
  const accepted = used.filter(({ document }) => registry.isDocument(document.client_id))
  return [...current.clients.map(clientFacts), ...accepted.map((client) => documentFacts(client, current))]
}

/** Returns what `client:show` shows of a client; null for an unknown one. */
export async function findClient({ config, database }: Parts, id: string) {
  const current = config.current()
  const client = current.clients.find(({ client_id }) => client_id === id)
  if (client) return { ...clientDetails(client), ...(await secretFacts(database, client)) }
  const used = await findUsedClient(database, id)
  return used && { ...documentFacts(used, current), has_secret: false, secrets: [] }
}

/** Returns the properties of a registered client that lists show. */
function clientFacts(client: RegisteredClient) {
  const { client_id, name, type, application_type, first_party } = client
  const authentication: string = metadataOf(client).token_endpoint_auth_method ?? 'none'
  const [grants, scopes, redirect_uris] = [[...client.grants], [...client.scopes], [...client.redirect_uris]]
  const facts = {
    client_id,
    name,
    type,
    application_type,
    authentication,
    grants: grants as string[],
    scopes,
    redirect_uris,
    first_party,
  }
  const unregistered: { claimed_name: string | null; last_used_at: string | null } = {
    claimed_name: null,
    last_used_at: null,
  }
  return { ...facts, registered: true, ...unregistered }
}

/** The same properties of a client that nobody registered. */
function documentFacts({ document, usedAt }: UsedClient, config: Config): ReturnType<typeof clientFacts> {
  const { client_id, redirect_uris, grant_types = [], token_endpoint_auth_method = 'none' } = document
  return {
    client_id,
    name: new URL(client_id).host,
    type: token_endpoint_auth_method === 'none' ? 'public' : 'confidential',
    application_type: redirect_uris.some((uri) => uri.startsWith('http:')) ? 'native' : 'web',
    authentication: token_endpoint_auth_method,
    grants: grant_types.filter((grant) => grant === 'authorization_code' || grant === 'refresh_token'),
    scopes: [...config.oauth.client_id_metadata.scopes],
    redirect_uris,
    first_party: false,
    registered: false,
    claimed_name: claimedName(document),
    last_used_at: wireDate(usedAt),
  }
}

/** When the client last used each of its secrets. svc notes this only while there are several. */
async function secretFacts(database: Database, client: RegisteredClient) {
  const hashes = secretHashesOf(client)
  const uses = hashes.length > 1 ? await secretUses(database, client.client_id, hashes) : []
  return { secrets: uses.map((usedAt, at) => ({ place: at + 1, last_used_at: usedAt && wireDate(usedAt) })) }
}

/** Returns a client as configured, with `has_secret` in place of its secret. */
function clientDetails(client: RegisteredClient) {
  const { secret, secret_hash, ...settings } = client
  return { ...settings, ...clientFacts(client), has_secret: secret !== undefined || secret_hash !== undefined }
}
