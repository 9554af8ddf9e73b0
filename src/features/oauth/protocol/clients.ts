import { createHash } from 'node:crypto'
import type { ClientAuthMethod, ClientMetadata } from 'oidc-provider'
import type { Config } from '../../../config/schema.ts'

/** A client as the YAML registers it. */
export type RegisteredClient = Config['clients'][number]

/** Clients of svc itself: for tokens that users and the first-party page ask of svc directly. */
export const personalClient = 'svc-personal'
export const firstPartyClient = 'svc-first-party'

/** The scopes of OpenID Connect that every client may ask for. */
export const openidScopes = ['openid', 'profile', 'email', 'offline_access'] as const

/** The scopes that svc serves besides those of APIs: `roles` only for clients that list it. */
export const servedScopes = [...openidScopes, 'roles'] as const

const grantTypes: Readonly<Record<string, string>> = {
  authorization_code: 'authorization_code',
  refresh_token: 'refresh_token',
  client_credentials: 'client_credentials',
  device_code: 'urn:ietf:params:oauth:grant-type:device_code',
  password: 'password',
  token_exchange: 'urn:ietf:params:oauth:grant-type:token-exchange',
}

/** `sha256:<hex>` of a secret, as `secret_hash` has it. */
export const secretHash = (secret: string): string => `sha256:${createHash('sha256').update(secret).digest('hex')}`

/** The method by which a client authenticates at the token endpoint. */
function authMethod(client: RegisteredClient): ClientAuthMethod {
  if (client.type === 'public') return 'none'
  if (client.token_endpoint_auth_method !== null) return client.token_endpoint_auth_method
  const hasSecret = client.secret !== undefined || client.secret_hash !== undefined
  // The library takes either way of sending a secret for either method.
  return hasSecret ? 'client_secret_basic' : 'private_key_jwt'
}

/** The library's metadata of a registered client (RFC 7591 section 2). Secrets are hashes from here on. */
export function metadataOf(client: RegisteredClient): ClientMetadata {
  const method = authMethod(client)
  const hash = client.secret_hash ?? (client.secret === undefined ? undefined : secretHash(client.secret))
  const usesCode = client.grants.includes('authorization_code')
  const metadata: ClientMetadata = {
    client_id: client.client_id,
    client_name: client.name,
    application_type: client.application_type,
    token_endpoint_auth_method: method,
    grant_types: client.grants.map((grant) => grantTypes[grant] ?? grant),
    response_types: usesCode ? ['code'] : [],
    redirect_uris: usesCode ? [...client.redirect_uris] : [],
    post_logout_redirect_uris: [...client.post_logout_redirect_uris],
    // RS256 is none of FAPI 2.0's algorithms (Security Profile section 5.4.1), and is the default of other clients.
    id_token_signed_response_alg:
      client.fapi && client.id_token_signed_response_alg === 'RS256' ? 'ES256' : client.id_token_signed_response_alg,
    require_pushed_authorization_requests: client.require_par || client.fapi,
    dpop_bound_access_tokens: client.dpop || client.fapi,
  }
  if (method.startsWith('client_secret_') && hash !== undefined) metadata.client_secret = hash
  if (client.jwks) metadata.jwks = structuredClone(client.jwks) as NonNullable<ClientMetadata['jwks']>
  if (client.jwks_uri) metadata.jwks_uri = client.jwks_uri
  if (client.backchannel_logout_uri !== null) {
    metadata.backchannel_logout_uri = client.backchannel_logout_uri
    metadata.backchannel_logout_session_required = true
  }
  return metadata
}

/** The metadata of svc's own clients, which no request can use: they have no grant and no secret. */
const ownMetadata = (client_id: string, name: string): ClientMetadata => ({
  client_id,
  client_name: name,
  token_endpoint_auth_method: 'none',
  grant_types: [],
  response_types: [],
  redirect_uris: [],
})

/** The clients of one configuration. */
export class Registry {
  readonly #clients: ReadonlyMap<string, RegisteredClient>
  readonly #metadata: ReadonlyMap<string, ClientMetadata>

  constructor(config: Config) {
    this.#clients = new Map(config.clients.map((client) => [client.client_id, client]))
    this.#metadata = new Map([
      ...config.clients.map((client): [string, ClientMetadata] => [client.client_id, metadataOf(client)]),
      [personalClient, ownMetadata(personalClient, 'Personal access token')],
      [firstPartyClient, ownMetadata(firstPartyClient, config.app.name)],
    ])
  }

  client(id: string | undefined): RegisteredClient | undefined {
    return id === undefined ? undefined : this.#clients.get(id)
  }

  metadata(id: string): ClientMetadata | undefined {
    return this.#metadata.get(id)
  }

  has(id: string): boolean {
    return this.#metadata.has(id)
  }

  /** Whether a client is svc's own or the operator's, and not a third party's. */
  isFirstParty(id: string): boolean {
    return id === personalClient || id === firstPartyClient || this.client(id)?.first_party === true
  }

  /** The scopes that a client gets when it names none: its API scopes, else `openid`. */
  defaultScope(id: string | undefined): string {
    const scopes = this.client(id)?.scopes ?? []
    return scopes.length > 0 ? scopes.join(' ') : 'openid'
  }
}
