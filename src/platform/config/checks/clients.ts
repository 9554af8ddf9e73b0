import { createPublicKey } from 'node:crypto'
import type { Path, Report as Sink } from '../findings.ts'
import { isLoopback } from '../hosts.ts'
import type { Config } from '../schema.ts'
import { isManagementScope, managementScopes } from '../sections/admin.ts'
import { agentsAreLimited } from './agents.ts'
import { federatedIsSafe } from './federated.ts'

type Client = Config['clients'][number]
type Report = (key: string | Path, message: string) => void
type Rule = (client: Client, report: Report, config: Config) => void

const OPENID_SCOPES = ['openid', 'profile', 'email', 'offline_access', 'roles', 'groups']

const rules: readonly Rule[] = [
  idIsOurs,
  redirectUrisAreSafe,
  redirectSchemesAreForApps,
  logoutUrisAreSafe,
  clientHasUse,
  codeGrantHasRedirectUris,
  publicClientKeepsNoSecret,
  publicClientActsForUsersOnly,
  confidentialClientHasCredentials,
  oneSecretOnly,
  secretCanBeSent,
  oneKeySetOnly,
  federatedIsSafe,
  keysArePublic,
  keysCanSign,
  authMethodHasItsCredentials,
  fapiHasKeys,
  fapiHasNoSecret,
  boundClientGetsBoundTokens,
  exchangeNamesClients,
  agentsAreLimited,
  scopesExist,
]

/** Rules for the client registry. */
export const clientChecks: readonly ((config: Config, sink: Sink) => void)[] = [
  idsAreUnique,
  unregisteredGetKnownScopes,
  unregisteredHaveHosts,
  (config, sink) => {
    for (const [index, client] of config.clients.entries()) {
      const report: Report = (key, message) => sink(['clients', index, ...[key].flat()], message)
      for (const rule of rules) rule(client, report, config)
    }
  },
]

function idsAreUnique({ clients }: Config, sink: Sink): void {
  const ids = clients.map(({ client_id }) => client_id)
  for (const [index, id] of ids.entries()) {
    const first = ids.indexOf(id)
    if (first === index) continue
    const message = `must be unique; clients[${first}] already uses it (found "${id}")`
    sink(['clients', index, 'client_id'], message, ['clients', first, 'client_id'])
  }
}

function idIsOurs({ client_id }: Client, report: Report): void {
  if (/^\d+$/.test(client_id))
    report('client_id', `must contain a character that is not a digit, to differ from user ids (found "${client_id}")`)
  if (client_id.startsWith('svc-')) {
    report('client_id', `must not begin with svc-, which is reserved for built-in clients (found "${client_id}")`)
  }
}

function redirectUrisAreSafe(client: Client, report: Report): void {
  urisAreSafe(client, 'redirect_uris', report)
}

/** Schemes that browsers and systems handle themselves. */
const systemSchemes = [
  'about',
  'blob',
  'data',
  'file',
  'ftp',
  'http',
  'https',
  'javascript',
  'mailto',
  'vbscript',
  'ws',
  'wss',
]

function redirectSchemesAreForApps({ redirect_schemes, application_type }: Client, report: Report): void {
  if (redirect_schemes.length > 0 && application_type !== 'native') {
    report('redirect_schemes', 'must be empty unless application_type is native')
  }
  for (const [index, scheme] of redirect_schemes.entries()) {
    if (systemSchemes.includes(scheme)) report(['redirect_schemes', index], `must not be ${scheme}, which opens no app`)
  }
}

function logoutUrisAreSafe(client: Client, report: Report): void {
  urisAreSafe(client, 'post_logout_redirect_uris', report)
}

function urisAreSafe(client: Client, key: 'redirect_uris' | 'post_logout_redirect_uris', report: Report): void {
  for (const [index, uri] of client[key].entries()) {
    if (!URL.canParse(uri)) continue
    if (uri.includes('#')) report([key, index], `must not have a fragment (found "${uri}")`)
    const complaint = uriComplaints[client.application_type]?.(new URL(uri), client)
    if (complaint) report([key, index], `${complaint} (found "${uri}")`)
  }
}

// Has no entry for an invalid application_type, which the schema reports.
const uriComplaints: Readonly<Record<string, (uri: URL, client: Client) => string | undefined>> = {
  web: webUriComplaint,
  native: nativeUriComplaint,
}

function webUriComplaint({ protocol, hostname }: URL): string | undefined {
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return undefined
  return 'must use https, or http on localhost, 127.0.0.1 or [::1]. For another host, use https; for an app, set application_type: native and use a scheme such as com.example.app:/cb'
}

/** Hosts on which any port matches (RFC 8252 section 7.3). oidc-provider supports only these. */
const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]'])

function nativeUriComplaint({ protocol, hostname }: URL, { redirect_schemes }: Client): string | undefined {
  if (protocol === 'http:') {
    return loopbackHosts.has(hostname)
      ? undefined
      : 'must use https, http on localhost, 127.0.0.1 or [::1], or a scheme such as com.example.app:/cb'
  }
  if (protocol === 'https:') return isLoopback(hostname) ? 'must use http on loopback' : undefined
  if (protocol.includes('.') || redirect_schemes.includes(protocol.slice(0, -1))) return undefined
  return 'must use a reverse domain name as scheme, such as com.example.app:/cb, or a scheme of redirect_schemes'
}

function clientHasUse({ grants, introspect }: Client, report: Report): void {
  if (grants.length === 0 && !introspect) report('grants', 'must have at least one grant, unless introspect is true')
}

function codeGrantHasRedirectUris({ grants, redirect_uris }: Client, report: Report): void {
  if (!grants.includes('authorization_code') || redirect_uris.length > 0) return
  report('redirect_uris', 'is required for the grant authorization_code; expected at least one absolute URI')
}

function publicClientKeepsNoSecret(client: Client, report: Report): void {
  if (client.type !== 'public') return
  for (const key of ['secret', 'secret_hash'] as const) {
    if (client[key] !== undefined) report(key, 'is not allowed for a public client, which cannot keep it secret')
  }
  const method = client.token_endpoint_auth_method
  if (method !== null && method !== 'none') {
    report('token_endpoint_auth_method', `must be none for a public client (found "${method}")`)
  }
}

function publicClientActsForUsersOnly(client: Client, report: Report): void {
  if (client.type !== 'public') return
  const index = client.grants.indexOf('client_credentials')
  if (index >= 0)
    report(['grants', index], 'must not be client_credentials for a public client, which has no credentials')
  if (client.fapi) report('fapi', 'must be false for a public client; FAPI 2.0 requires confidential clients')
  if (client.introspect) report('introspect', 'must be false for a public client, which anyone can impersonate')
}

function confidentialClientHasCredentials(client: Client, report: Report): void {
  if (client.type !== 'confidential' || hasSecret(client) || hasKeys(client) || client.federated.length > 0) return
  report(
    'secret',
    'is required for a confidential client without secret_hash, jwks, jwks_uri or federated; svc client:secret creates one',
  )
}

function oneSecretOnly({ secret, secret_hash }: Client, report: Report): void {
  if (secret !== undefined && secret_hash !== undefined) report('secret_hash', 'cannot be combined with secret')
}

function secretCanBeSent({ secret }: Client, report: Report): void {
  if ([secret ?? ''].flat().some((one) => /[^\x20-\x7e]/.test(one))) {
    report('secret', 'must contain only printable ASCII characters (RFC 6749 appendix A.2)')
  }
}

function oneKeySetOnly({ jwks, jwks_uri }: Client, report: Report): void {
  if (jwks !== undefined && jwks_uri !== undefined) report('jwks_uri', 'cannot be combined with jwks')
}

const privateParts = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

function keysArePublic({ jwks }: Client, report: Report): void {
  if (jwks?.keys.some((key) => privateParts.some((part) => part in key)))
    report('jwks', 'must contain only public keys; remove the private parts')
}

function keysCanSign({ jwks }: Client, report: Report): void {
  if (!jwks) return
  const broken = jwks.keys.findIndex((key) => kindOf(key) === null)
  if (broken >= 0) report(['jwks', 'keys', broken], 'is not a valid key: a parameter is missing or invalid')
  else if (!jwks.keys.some((key) => !('use' in key && key.use === 'enc') && signers.has(kindOf(key) ?? ''))) {
    report('jwks', 'must contain a signing key: RSA with at least 2048 bits, EC on P-256, or OKP on Ed25519')
  }
}

const signers = new Set(['rsa', 'prime256v1', 'ed25519'])

/** Returns the key type, or null for an invalid key. */
function kindOf(jwk: Readonly<Record<string, unknown>>): string | null {
  const labels = [jwk.alg, jwk.kid, jwk.use]
  if (labels.some((label) => label !== undefined && (typeof label !== 'string' || label === ''))) return null
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey({ key: { ...jwk }, format: 'jwk' })
    if (asymmetricKeyType === 'ec') return asymmetricKeyDetails?.namedCurve ?? ''
    return (asymmetricKeyDetails?.modulusLength ?? 2048) < 2048 ? 'weak' : (asymmetricKeyType ?? '')
  } catch {
    return null
  }
}

function authMethodHasItsCredentials(client: Client, report: Report): void {
  const method = client.token_endpoint_auth_method
  if (client.type === 'public' || method === null) return
  if (method === 'none') report('token_endpoint_auth_method', 'must not be none for a confidential client')
  if (method === 'private_key_jwt' && !hasKeys(client)) {
    report('token_endpoint_auth_method', 'must not be private_key_jwt without jwks or jwks_uri')
  }
  if (method.startsWith('client_secret_') && !hasSecret(client)) {
    report('token_endpoint_auth_method', `must not be ${method} without secret or secret_hash`)
  }
}

function fapiHasKeys(client: Client, report: Report): void {
  if (client.fapi && !hasKeys(client))
    report('fapi', 'must be false without jwks or jwks_uri; FAPI 2.0 does not allow secrets')
}

function fapiHasNoSecret(client: Client, report: Report): void {
  const key = client.secret === undefined ? 'secret_hash' : 'secret'
  if (client.fapi && hasKeys(client) && hasSecret(client)) report(key, 'is not allowed for a FAPI 2.0 client')
}

/** oidc-provider checks DPoP proofs for its own grants only. svc implements these two grants itself. */
function boundClientGetsBoundTokens({ dpop, fapi, grants }: Client, report: Report): void {
  if (!dpop && !fapi) return
  for (const [index, grant] of grants.entries()) {
    if (grant !== 'password' && grant !== 'token_exchange') continue
    const kind = fapi ? 'a FAPI 2.0 client' : 'a client with dpop: true'
    report(['grants', index], `must not be ${grant} for ${kind}: this grant issues tokens without a key binding`)
  }
}

/** Values of `exchange` that name tokens of svc itself instead of a client. */
const OWN_SOURCES = ['svc-api-tokens', 'svc-first-party', 'svc-personal']

function exchangeNamesClients({ exchange, grants }: Client, report: Report, { clients }: Config): void {
  if (exchange.length > 0 && !grants.includes('token_exchange')) {
    report('exchange', 'must be empty without the grant token_exchange')
  }
  for (const [index, id] of exchange.entries()) {
    if (OWN_SOURCES.includes(id) || clients.some(({ client_id }) => client_id === id)) continue
    report(['exchange', index], `must be the client_id of a client, svc-api-tokens or svc-first-party (found "${id}")`)
  }
}

const unregistered = ['oauth', 'client_id_metadata']

function unregisteredGetKnownScopes(config: Config, sink: Sink): void {
  const known = grantableScopes(config)
  for (const [index, scope] of config.oauth.client_id_metadata.scopes.entries()) {
    if (known.has(scope)) continue
    const expected = `a key of scopes, a scope of an API in apis, or one of ${OPENID_SCOPES.join(', ')}`
    sink([...unregistered, 'scopes', index], `must be ${expected} (found "${scope}")`)
  }
}

function unregisteredHaveHosts({ oauth }: Config, sink: Sink): void {
  const { enabled, allowed_hosts } = oauth.client_id_metadata
  if (!enabled || allowed_hosts?.length !== 0) return
  const path = [...unregistered, 'allowed_hosts']
  sink(path, 'must have an entry, or be null for every host; to accept no client, set enabled to false')
}

/** Scopes about the user, of `scopes` and of the APIs in `apis`. */
const grantableScopes = ({ scopes, apis }: Config): ReadonlySet<string> =>
  new Set([...OPENID_SCOPES, ...Object.keys(scopes), ...Object.values(apis).flatMap((api) => api.scopes)])

function scopesExist({ scopes }: Client, report: Report, config: Config): void {
  const known = grantableScopes(config)
  for (const [index, scope] of scopes.entries()) {
    if (scope === '*') report(['scopes', index], 'must not be *; list each scope')
    else if (!known.has(scope) && !isManagementScope(scope)) {
      report(
        ['scopes', index],
        `must be a key of scopes, a scope of an API in apis, ${managementScopes.join(', ')}, or one of ${OPENID_SCOPES.join(', ')} (found "${scope}")`,
      )
    }
  }
}

function hasSecret({ secret, secret_hash }: Client): boolean {
  return secret !== undefined || secret_hash !== undefined
}

function hasKeys({ jwks, jwks_uri }: Client): boolean {
  return jwks !== undefined || jwks_uri !== undefined
}
