import { metadataOf, type RegisteredClient } from './protocol/clients.ts'

/** The facts of a client for lists. */
export function clientFacts(client: RegisteredClient) {
  const { client_id, name, type, application_type, first_party } = client
  const authentication = metadataOf(client).token_endpoint_auth_method ?? 'none'
  const [grants, scopes, redirect_uris] = [[...client.grants], [...client.scopes], [...client.redirect_uris]]
  return { client_id, name, type, application_type, authentication, grants, scopes, redirect_uris, first_party }
}

/** A client as configured, with whether it has a secret instead of the secret. */
export function clientDetails(client: RegisteredClient) {
  const { secret, secret_hash, ...settings } = client
  return { ...settings, ...clientFacts(client), has_secret: secret !== undefined || secret_hash !== undefined }
}
