import type { ClientAuthMethod, ClientMetadata } from 'oidc-provider'
import type { Application } from '../../../pages/continuation.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { constantTimeEqual, sha256Hex } from '../../../platform/crypto/hash.ts'
import { DocumentPolicy, hostOf } from '../client-documents/policy.ts'
import { claimsByScope, openidScopes, registeredScopes, scopeIn, scopeOfUserClaim, servedScopes } from './scopes.ts'
import { namedTargets, type Targets, targetsOf } from './targets.ts'

/** Client from the YAML file. */
export type RegisteredClient = Config['clients'][number]

/** Clients of svc itself, for personal access tokens and tokens of the first-party page. */
export const personalClient = 'svc-personal'
export const firstPartyClient = 'svc-first-party'

/** Entry in the `exchange` list of a client that allows API tokens, which belong to no client. */
export const apiTokenSource = 'svc-api-tokens'

const grantTypes: Readonly<Record<string, string>> = {
  authorization_code: 'authorization_code',
  refresh_token: 'refresh_token',
  client_credentials: 'client_credentials',
  device_code: 'urn:ietf:params:oauth:grant-type:device_code',
  password: 'password',
  token_exchange: 'urn:ietf:params:oauth:grant-type:token-exchange',
}

/** Tests for a grant type of the token endpoint that svc knows. */
export const isGrantType = (name: string | undefined): boolean =>
  name !== undefined && Object.values(grantTypes).includes(name)

/** Hash of a secret in the format of `secret_hash`: `sha256:<hex>`. */
export const secretHash = (secret: string): string => `sha256:${sha256Hex(secret)}`

/** Authentication method of a client at the token endpoint. */
function authMethod(client: RegisteredClient): ClientAuthMethod {
  if (client.type === 'public') return 'none'
  if (client.token_endpoint_auth_method !== null) return client.token_endpoint_auth_method
  const hasSecret = client.secret !== undefined || client.secret_hash !== undefined || client.federated.length > 0
  // The library accepts a secret in the header or in the body for either method.
  return hasSecret ? 'client_secret_basic' : 'private_key_jwt'
}

/** Hashes of the secrets of a client, the newest first. */
export const secretHashesOf = ({ secret, secret_hash }: RegisteredClient): string[] => [
  ...[secret_hash ?? []].flat(),
  ...[secret ?? []].flat().map(secretHash),
]

/** Metadata of a registered client for the library (RFC 7591 section 2). Secrets are hashed. */
export function metadataOf(client: RegisteredClient): ClientMetadata {
  const method = authMethod(client)
  const [hash] = secretHashesOf(client)
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
    // FAPI 2.0 does not allow RS256, the default of other clients (Security Profile section 5.4.1).
    id_token_signed_response_alg:
      client.fapi && client.id_token_signed_response_alg === 'RS256' ? 'ES256' : client.id_token_signed_response_alg,
    require_pushed_authorization_requests: client.require_par || client.fapi,
    dpop_bound_access_tokens: client.dpop || client.fapi,
  }
  // The library requires a secret. It compares nothing with this one, so a client without a secret has none that works.
  if (method.startsWith('client_secret_')) metadata.client_secret = hash ?? 'sha256:'
  if (client.jwks) metadata.jwks = structuredClone(client.jwks) as NonNullable<ClientMetadata['jwks']>
  if (client.jwks_uri) metadata.jwks_uri = client.jwks_uri
  if (client.backchannel_logout_uri !== null) {
    metadata.backchannel_logout_uri = client.backchannel_logout_uri
    metadata.backchannel_logout_session_required = true
  }
  return metadata
}

/** Metadata of svc's own clients. Requests cannot use them, because they have no grant and no secret. */
const ownMetadata = (client_id: string, name: string): ClientMetadata => ({
  client_id,
  client_name: name,
  token_endpoint_auth_method: 'none',
  grant_types: [],
  response_types: [],
  redirect_uris: [],
})

/** The clients of one configuration: those that it registers, and those that it accepts by their metadata documents. */
export class Registry {
  readonly documents: DocumentPolicy
  readonly #clients: ReadonlyMap<string, RegisteredClient>
  /** Metadata of the clients, and of svc's own, by their id. */
  readonly metadata: ReadonlyMap<string, ClientMetadata>
  readonly #secretHashes: ReadonlyMap<string, readonly string[]>
  readonly #targets: ReadonlyMap<string, Targets>
  readonly #documentTargets: Targets
  readonly #otherTargets: Targets
  readonly #audiences: ReadonlySet<string>
  readonly #refreshTtl: number
  readonly #origins: ReadonlySet<string>
  /** Claims by scope. */
  readonly claimsByScope: Readonly<Record<string, readonly string[]>>

  constructor(config: Config) {
    this.claimsByScope = claimsByScope(config)
    this.#origins = new Set(config.clients.flatMap(({ cors_origins }) => cors_origins))
    this.#refreshTtl = config.oauth.refresh_token_ttl
    this.#clients = new Map(config.clients.map((client) => [client.client_id, client]))
    this.#secretHashes = new Map(config.clients.map((client) => [client.client_id, secretHashesOf(client)]))
    this.metadata = new Map([
      ...config.clients.map((client): [string, ClientMetadata] => [client.client_id, metadataOf(client)]),
      [personalClient, ownMetadata(personalClient, 'Personal access token')],
      [firstPartyClient, ownMetadata(firstPartyClient, config.app.name)],
    ])
    // The page of a session may call every API.
    const firstParty = { scopes: [...registeredScopes(config)], audience: null, access_token_ttl: null }
    this.#targets = new Map([
      ...config.clients.map((client): [string, Targets] => [client.client_id, targetsOf(config, client)]),
      [firstPartyClient, targetsOf(config, firstParty)],
    ])
    this.documents = new DocumentPolicy(config)
    const { scopes } = this.documents
    const identity = servedScopes.filter((scope) => scopes.includes(scope))
    const forDocuments = { scopes: [...scopes], audience: null, access_token_ttl: null, identity }
    const withAllowedClaims = (target: Targets[number]) => ({
      ...target,
      claims: target.claims.filter((claim) => scopes.includes(scopeOfUserClaim(claim))),
    })
    const [own, ...others] = targetsOf(config, forDocuments)
    this.#documentTargets = [withAllowedClaims(own), ...others.map(withAllowedClaims)]
    this.#otherTargets = targetsOf(config, undefined)
    this.#audiences = new Set([
      ...[...this.#targets.values(), this.#otherTargets].map(([own]) => own.audience),
      ...Object.values(config.apis).map(({ audience }) => audience),
    ])
  }

  /** A registered client. */
  client(id: string | undefined): RegisteredClient | undefined {
    return id === undefined ? undefined : this.#clients.get(id)
  }

  /** Tests whether pages of an origin may call svc for one of the clients. */
  isOriginOfClient(origin: string): boolean {
    return this.#origins.has(origin)
  }

  /** Hashes of the secrets of a client, the newest first. */
  secretHashes(id: string): readonly string[] {
    return this.#secretHashes.get(id) ?? []
  }

  /** Place of a secret in the list of a client, 0 for the newest one; null for a wrong secret. */
  secretIndex(id: string, secret: string): number | null {
    const hash = secretHash(secret)
    // Compares all of them, so that the time tells nothing about the place.
    const [index = null] = this.secretHashes(id).flatMap((known, at) => (constantTimeEqual(known, hash) ? [at] : []))
    return index
  }

  /** Tests for a client that nobody registered, and that svc accepts by its metadata document. */
  isDocument(id: string | undefined): id is string {
    return id !== undefined && !this.#clients.has(id) && this.documents.accepts(id)
  }

  /** Scopes of APIs and `roles` that a client can get. */
  listedScopes(id: string | undefined): readonly string[] {
    if (!this.isDocument(id)) return this.client(id)?.scopes ?? []
    return this.documents.scopes.filter((scope) => !openidScopes.some((one) => one === scope))
  }

  /** How pages show a client. One that nobody registered has the name of its host, which its documents cannot choose. */
  application(id: string): Application {
    const client = this.client(id)
    return {
      name: client?.name ?? (this.isDocument(id) ? hostOf(id) : id),
      logo: client?.logo_uri ?? null,
      termsHref: client?.tos_uri ?? null,
      privacyHref: client?.policy_uri ?? null,
    }
  }

  has(id: string): boolean {
    return this.metadata.has(id) || this.isDocument(id)
  }

  /** Tests whether a client belongs to svc or to the operator, not to a third party. */
  isFirstParty(id: string): boolean {
    return id === personalClient || id === firstPartyClient || this.client(id)?.first_party === true
  }

  /** APIs that a client may request tokens for. */
  targets(id: string | undefined): Targets {
    if (this.isDocument(id)) return this.#documentTargets
    return (id === undefined ? undefined : this.#targets.get(id)) ?? this.#otherTargets
  }

  /** Tests whether access tokens can have this audience. A reload may remove an API whose tokens have not expired. */
  hasAudience(audience: string): boolean {
    return this.#audiences.has(audience)
  }

  /** Lifetime of a client's refresh tokens, in milliseconds. 0 if the client gets none. */
  refreshTtl(id: string | undefined): number {
    if (this.isDocument(id)) return this.#refreshTtl
    const client = this.client(id)
    return client?.grants.includes('refresh_token') ? (client.refresh_token_ttl ?? this.#refreshTtl) : 0
  }

  /** Maximum lifetime of a client's access tokens, in milliseconds. */
  maxAccessTtl(id: string | undefined): number {
    return Math.max(...this.targets(id).map(({ ttl }) => ttl))
  }

  /** Scope that grants a claim, apart from `openid`. */
  scopeOfClaim(claim: string): string | undefined {
    return scopeIn(this.claimsByScope, claim)
  }

  /** API scopes of a client, limited to those of the resources that a request names. */
  apiScopes(id: string | undefined, resources?: unknown): string[] {
    const scopes = this.listedScopes(id)
    if (resources === undefined) return [...scopes]
    const named = namedTargets(this.targets(id), resources)
    return scopes.filter((scope) => named.some(({ tokenScopes }) => tokenScopes.has(scope)))
  }

  /** Scopes of a request without `scope`: the API scopes of the client, otherwise `openid`. */
  defaultScope(id: string | undefined, resources?: unknown): string {
    return this.apiScopes(id, resources).join(' ') || 'openid'
  }
}
