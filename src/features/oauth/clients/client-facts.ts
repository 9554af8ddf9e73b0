import { metadataOf, type RegisteredClient } from './clients.ts'

/** Returns the properties of a client that lists show. */
export function clientFacts(client: RegisteredClient) {
  const { client_id, name, type, application_type, first_party } = client
  const authentication = metadataOf(client).token_endpoint_auth_method ?? 'none'
  const [grants, scopes, redirect_uris] = [[...client.grants], [...client.scopes], [...client.redirect_uris]]
  return { client_id, name, type, application_type, authentication, grants, scopes, redirect_uris, first_party }
}

/** Returns a client as configured, with `has_secret` in place of its secret. */
export function clientDetails(client: RegisteredClient) {
  const { secret, secret_hash, ...settings } = client
  return { ...settings, ...clientFacts(client), has_secret: secret !== undefined || secret_hash !== undefined }
}
