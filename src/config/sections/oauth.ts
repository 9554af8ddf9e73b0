import { Type } from 'typebox'
import { choice, duration, entry, flag, list, named, nullable, secret, section, text } from './kinds.ts'

const GRANTS = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'device_code',
  'password',
  'token_exchange',
] as const
const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const
const SCOPE_NAMES = {
  pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$',
  expected: 'printable ASCII without spaces, quotes and backslashes',
}

const uris = (description: string) =>
  list(text({ format: 'absolute-uri', description: 'An absolute URI.' }), { default: [], description })

const key = Type.Object(
  { kty: choice(['RSA', 'EC', 'OKP'], { description: 'The type of the key.' }) },
  { additionalProperties: true, description: 'A JSON Web Key.' },
)

const client = entry('One OAuth client.', {
  client_id: text({
    pattern: '^[\\x21-\\x7e]+$',
    maxLength: 255,
    expected: 'at most 255 printable ASCII characters without spaces',
    description: 'The public identifier of the client.',
  }),
  name: nullable(text({ maxLength: 255, description: 'The name on the consent page. By default the client_id.' })),
  type: choice(['confidential', 'public'], { description: 'Whether the client can keep a secret.' }),
  application_type: choice(['web', 'native'], {
    default: 'web',
    description: 'native allows loopback redirect URIs with any port, and custom schemes.',
  }),
  secret: Type.Optional(secret({ description: 'The client secret.' })),
  secret_hash: Type.Optional(
    text({
      pattern: '^sha256:[0-9a-f]{64}$',
      hidden: true,
      expected: 'sha256: and 64 lowercase hexadecimal digits',
      description: 'The hash of the client secret, instead of secret.',
    }),
  ),
  jwks: Type.Optional(
    entry('Public keys of the client.', {
      keys: Type.Array(key, {
        minItems: 1,
        description: 'JSON Web Keys, public parts only.',
        'x-svc-reload': 'live',
      }),
    }),
  ),
  jwks_uri: Type.Optional(text({ format: 'web-url', description: "The URL of the client's public keys." })),
  token_endpoint_auth_method: nullable(
    choice(AUTH_METHODS, {
      description:
        'The authentication method. By default client_secret_basic and client_secret_post are both accepted.',
    }),
  ),
  redirect_uris: uris('Redirect URIs. They must match exactly.'),
  post_logout_redirect_uris: uris('Where svc may redirect a browser after sign-out.'),
  backchannel_logout_uri: nullable(
    text({ format: 'web-url', description: "Receives a back-channel logout request when a user's session ends." }),
  ),
  grants: list(choice(GRANTS, { description: 'A grant.' }), {
    minItems: 1,
    description: 'The grants that the client may use.',
  }),
  scopes: list(text({ description: 'A scope.' }), {
    default: [],
    description: "API scopes that the client may request, and roles if it may read the user's role.",
  }),
  first_party: flag({ default: false, description: 'Whether to skip the consent page. For your own applications.' }),
  id_token_signed_response_alg: choice(ALGORITHMS, {
    default: 'RS256',
    description: 'The signing algorithm of ID tokens.',
  }),
  id_token_claims: nullable(
    flag({
      description: 'Whether ID tokens contain the claims of the granted scopes. By default oauth.id_token_claims.',
    }),
  ),
  require_par: flag({ default: false, description: 'Whether authorization requests must be pushed (PAR).' }),
  dpop: flag({ default: false, description: 'Whether access tokens must be bound to a key (DPoP).' }),
  fapi: flag({ default: false, description: 'Whether the client must follow the FAPI 2.0 Security Profile.' }),
  audience: nullable(text({ description: 'The audience of access tokens. By default oauth.audience.' })),
  access_token_ttl: nullable(
    duration({ description: 'The lifetime of access tokens. By default oauth.access_token_ttl.' }),
  ),
  refresh_token_ttl: nullable(
    duration({ description: 'The lifetime of refresh tokens. By default oauth.refresh_token_ttl.' }),
  ),
  introspect: flag({ default: false, description: 'Whether the client may introspect tokens of other clients.' }),
  exchange: list(text({ description: 'A client_id.' }), {
    default: [],
    description: 'Clients whose tokens this client may exchange.',
  }),
  cors_origins: nullable(
    list(text({ format: 'origin', description: 'An origin.' }), {
      description: 'Origins that may call the protocol endpoints from a browser. By default those of redirect_uris.',
    }),
  ),
  allow_private_addresses: flag({
    default: false,
    description: 'Whether jwks_uri and backchannel_logout_uri may be on private addresses.',
  }),
})

/** The OAuth 2.0 and OpenID Connect server and its client registry. */
export const oauthSections = {
  scopes: named(SCOPE_NAMES, text({ description: 'The description on the consent page.' }), {
    description: 'API scopes and their descriptions.',
  }),
  clients: Type.Array(client, { default: [], description: 'The client registry.', 'x-svc-reload': 'live' }),
  oauth: section('The OAuth server.', {
    access_token_ttl: duration({ default: '15m', description: 'The lifetime of access tokens.' }),
    refresh_token_ttl: duration({ default: '30d', description: 'The lifetime of refresh tokens.' }),
    authorization_code_ttl: duration({ default: '60s', description: 'The lifetime of authorization codes.' }),
    device_code_ttl: duration({ default: '10m', description: 'The lifetime of device codes.' }),
    personal_access_token_ttl: duration({ default: '90d', description: 'The lifetime of personal access tokens.' }),
    refresh_grace: duration({
      default: '10s',
      zero: true,
      description:
        'How long svc accepts a used refresh token again, in case the response was lost. A used device code is rejected at once, and revokes nothing in that time.',
    }),
    access_token_alg: choice(ALGORITHMS, { default: 'ES256', description: 'The signing algorithm of access tokens.' }),
    audience: nullable(text({ description: 'The audience of access tokens. By default app.url.' })),
    id_token_claims: flag({
      default: true,
      description: 'Whether ID tokens contain the claims of the granted scopes. If false, only UserInfo serves them.',
    }),
    key_rotation: duration({ default: '90d', description: 'How often svc replaces its signing keys.' }),
  }),
}
