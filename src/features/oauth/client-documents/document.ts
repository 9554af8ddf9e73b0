import type { ClientMetadata } from 'oidc-provider'
import { isVisible, withoutControls } from '../../../platform/http/formats.ts'
import { invalidDocument as refused } from './document-refused.ts'
import { hostOf, isHostListed } from './policy.ts'

/** The members of a metadata document that svc reads (RFC 7591 section 2). */
export interface ClientDocument {
  client_id: string
  client_name?: string
  redirect_uris: string[]
  grant_types?: string[]
  response_types?: string[]
  token_endpoint_auth_method?: 'none' | 'private_key_jwt'
  jwks?: object
  jwks_uri?: string
  id_token_signed_response_alg?: string
  dpop_bound_access_tokens?: boolean
  require_pushed_authorization_requests?: boolean
}

type Kind = 'text' | 'texts' | 'boolean' | 'object'

const kinds: Readonly<Record<keyof ClientDocument, Kind>> = {
  client_id: 'text',
  client_name: 'text',
  redirect_uris: 'texts',
  grant_types: 'texts',
  response_types: 'texts',
  token_endpoint_auth_method: 'text',
  jwks: 'object',
  jwks_uri: 'text',
  id_token_signed_response_alg: 'text',
  dpop_bound_access_tokens: 'boolean',
  require_pushed_authorization_requests: 'boolean',
}

const expected: Readonly<Record<Kind, string>> = {
  text: 'a string',
  texts: 'a list of strings',
  boolean: 'true or false',
  object: 'an object',
}

const tests: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  texts: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
}

/** Maximum number of characters of the name on pages. */
const maxName = 60

/** Checks the members that svc reads, and drops all others. Throws `DocumentRefused`. */
export function readDocument(id: string, members: Readonly<Record<string, unknown>>): ClientDocument {
  if (members.client_id !== id) throw refused('its client_id is not its own URL')
  if (members.client_secret !== undefined) throw refused('it contains client_secret, although anyone can read it')
  const known = Object.entries(kinds).filter(([name]) => members[name] !== undefined && members[name] !== null)
  for (const [name, kind] of known) {
    if (!tests[kind](members[name])) throw refused(`${name} must be ${expected[kind]}`)
  }
  const document = Object.fromEntries(known.map(([name]) => [name, members[name]])) as unknown as ClientDocument
  checkUse(document)
  checkKeys(document)
  if (document.jwks) document.jwks = { keys: Reflect.get(document.jwks, 'keys') }
  return document
}

function checkUse({ redirect_uris, grant_types, response_types }: ClientDocument): void {
  if (!redirect_uris || redirect_uris.length === 0) throw refused('redirect_uris is missing')
  if (grant_types && !grant_types.includes('authorization_code'))
    throw refused('grant_types must have authorization_code')
  if (response_types && !response_types.includes('code')) throw refused('response_types must have code')
}

function checkKeys({ client_id, token_endpoint_auth_method, jwks, jwks_uri }: ClientDocument): void {
  const method: string = token_endpoint_auth_method ?? 'none'
  if (method !== 'none' && method !== 'private_key_jwt') {
    throw refused('token_endpoint_auth_method must be none or private_key_jwt')
  }
  if (jwks && jwks_uri !== undefined) throw refused('it has both jwks and jwks_uri')
  // Otherwise anyone could make svc fetch from any host.
  if (jwks_uri !== undefined && !isOwn(jwks_uri, client_id))
    throw refused('jwks_uri must have the origin of the document')
  if (jwks && !isKeySet(jwks)) throw refused(`jwks must have at most ${maxKeys} keys, without nested members`)
  if (method === 'private_key_jwt' && !jwks && jwks_uri === undefined) {
    throw refused('private_key_jwt needs jwks or jwks_uri')
  }
}

/** Maximum number of keys of a client. */
const maxKeys = 20

/** Tests for keys without deep structures, which would overflow the stack. */
function isKeySet(jwks: { keys?: unknown }): boolean {
  const isKey = (key: unknown) =>
    tests.object(key) &&
    Object.values(key as object).every((value) => typeof value !== 'object' || value === null || tests.texts(value))
  return Array.isArray(jwks.keys) && jwks.keys.length <= maxKeys && jwks.keys.every(isKey)
}

/** Metadata of the client for the library. Throws `DocumentRefused` if no redirect URI of the document is allowed. */
export function clientMetadata(document: ClientDocument, redirectHosts: readonly string[]): ClientMetadata {
  const { client_id, grant_types = [], token_endpoint_auth_method = 'none', jwks, jwks_uri } = document
  const mayReceive = (uri: string) => isOwn(uri, client_id) || isHostListed(uri, redirectHosts)
  const allowed = document.redirect_uris.filter(
    (uri) => isPlain(uri) && (isLoopback(uri) || (isHttps(uri) && mayReceive(uri))),
  )
  if (allowed.length === 0) {
    const reason = `no entry of redirect_uris is on ${hostOf(client_id)} or on loopback (http://127.0.0.1, http://[::1] or http://localhost)`
    throw refused(reason, 'oauth.client_id_metadata.redirect_hosts')
  }
  const isNative = allowed.some(isLoopback)
  // The library allows no https URI on loopback beside those of native clients.
  const redirect_uris = allowed.filter((uri) => !isNative || !isOnLoopback(uri) || isLoopback(uri))
  const name = claimedName(document)
  return {
    client_id,
    ...(name === null ? {} : { client_name: name }),
    // Any port matches on loopback (RFC 8252 section 7.3).
    application_type: isNative ? 'native' : 'web',
    redirect_uris,
    grant_types: ['authorization_code', ...(grant_types.includes('refresh_token') ? ['refresh_token'] : [])],
    response_types: ['code'],
    token_endpoint_auth_method,
    ...(jwks ? { jwks: jwks as NonNullable<ClientMetadata['jwks']> } : {}),
    ...(jwks_uri === undefined ? {} : { jwks_uri }),
    id_token_signed_response_alg: algorithmOf(document),
    dpop_bound_access_tokens: document.dpop_bound_access_tokens === true,
    require_pushed_authorization_requests: document.require_pushed_authorization_requests === true,
  }
}

/** Pages quote the name, so it must not end the quotation. */
const quotes = /["“”„‟«»‹›「」『』〝〞＂]/gu

/** Name that the client gives itself, on one line; null without a visible one. Nobody has checked it. */
export function claimedName({ client_name = '' }: Pick<ClientDocument, 'client_name'>): string | null {
  const name = withoutControls(client_name.normalize('NFC').replace(quotes, '').replace(/\s+/g, ' ')).trim()
  const [...characters] = name
  if (!isVisible(name)) return null
  return characters.length > maxName
    ? `${characters
        .slice(0, maxName - 1)
        .join('')
        .trimEnd()}…`
    : name
}

/** Parsers read a URI with blanks or control characters differently. */
const isPlain = (uri: string): boolean => !/[\s\p{Cc}]/u.test(uri)

const isHttps = (uri: string): boolean => URL.parse(uri)?.protocol === 'https:' && !uri.includes('#')

const isOwn = (uri: string, id: string): boolean => URL.parse(uri)?.origin === URL.parse(id)?.origin

const loopback: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

const isOnLoopback = (uri: string): boolean => loopback.includes(URL.parse(uri)?.hostname ?? '')

const isLoopback = (uri: string): boolean =>
  URL.parse(uri)?.protocol === 'http:' && isOnLoopback(uri) && !uri.includes('#')

const algorithms = ['RS256', 'ES256', 'EdDSA'] as const

const algorithmOf = ({ id_token_signed_response_alg: asked }: ClientDocument) =>
  algorithms.find((algorithm) => algorithm === asked) ?? 'RS256'
