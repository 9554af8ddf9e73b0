import { ALGORITHMS, clients } from './clients.ts'
import { clientsDirectory } from './files.ts'
import { choice, duration, entry, flag, integer, list, named, nullable, section, text } from './kinds.ts'
import { userClaims } from './user-claims.ts'

const SCOPE_NAMES = {
  pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$',
  expected: 'printable ASCII without spaces, quotes and backslashes',
}

const hosts = (description: string) =>
  list(
    text({
      format: 'stateful-host',
      description: 'A host with an optional port. Without one it matches every port. `*` matches any part of it.',
    }),
    {
      default: [],
      example: ['*.example.com'],
      description,
    },
  )

const clientIdMetadata = section(
  'Clients that nobody registered, such as MCP clients and agents: their client_id is the https URL of a document about them (Client ID Metadata Document). svc asks the user each time. docs/guides/mcp.md describes them.',
  {
    enabled: flag({ default: false, description: 'Whether such clients may ask users for access.' }),
    allowed_hosts: nullable(
      hosts('The hosts of documents that svc accepts. By default those of every host with a public address.'),
    ),
    blocked_hosts: hosts(
      'Hosts whose clients svc refuses, and whose tokens it no longer accepts. svc client:block does the same for a host and its subdomains, without a change of the file.',
    ),
    redirect_hosts: hosts(
      'Hosts that may receive the user for clients of other hosts. Without an entry, redirect URIs are on the host of the document or on loopback.',
    ),
    cache: duration({
      default: '1h',
      max: '1d',
      description:
        'How long svc uses a document before it fetches it again. The Cache-Control of the document can shorten this to a minute. While its host is down, svc uses a document for up to a day.',
    }),
    max_size: integer({
      default: 10_240,
      minimum: 1_024,
      maximum: 262_144,
      description: 'The maximum size of a document in bytes.',
    }),
    scopes: list(text({ description: 'A scope.' }), {
      default: ['openid'],
      example: ['openid', 'offline_access', 'orders:read'],
      description:
        'All scopes that such clients can get: those of scopes and apis, and openid, profile, email, offline_access, roles and groups. They get this part of what they ask for, if the user allows it.',
    }),
  },
)

/** The OAuth 2.0 and OpenID Connect server and its client registry. */
export const oauthSections = {
  scopes: named(SCOPE_NAMES, text({ description: 'The description on the consent page.' }), {
    description:
      "API scopes of the OAuth server, with their descriptions on the consent page, which i18n.messages can translate. '*' is not a scope. The scopes openid, profile, email and offline_access always exist.",
    entries: [{ value: { 'orders:read': 'Read your orders', 'server:update': 'Change your servers' } }],
  }),
  apis: named(
    { pattern: '^[a-z0-9][a-z0-9-]*$', expected: 'lowercase letters, digits and -' },
    entry('One API.', {
      audience: text({
        format: 'absolute-uri',
        example: 'https://orders.example.com',
        description: 'The audience of its access tokens, which the API checks.',
      }),
      scopes: list(text({ ...SCOPE_NAMES, description: 'A scope.' }), {
        minItems: 1,
        example: ['orders:read', 'orders:write'],
        description:
          'The scopes of the API. A scope belongs to one API at most. scopes may describe them for the consent page.',
      }),
      advertised_scopes: nullable(
        list(text({ description: 'A scope.' }), {
          example: ['orders:read'],
          description:
            'The scopes that the metadata of the API names (RFC 9728). Clients such as MCP clients request all of them at first. By default all scopes.',
        }),
      ),
      token_ttl: nullable(
        duration({
          example: '10m',
          description:
            'The lifetime of its access tokens, at most 1d. By default the access_token_ttl of the client or of oauth. Tokens of the guard live for 60 seconds.',
        }),
      ),
      algorithm: choice(ALGORITHMS, { default: 'ES256', description: 'The signing algorithm of its access tokens.' }),
      status_list: flag({
        default: false,
        description:
          'Whether its access tokens have a place in a status list (draft-ietf-oauth-status-list), by which the API notices revocations within a minute without asking svc for each request. Each token then costs a row.',
      }),
      claims: userClaims(
        'Claims about the user in its access tokens and their introspection, if the token has a scope of the API.',
      ),
    }),
    {
      description:
        'Your APIs. Each one gets its own access tokens and verifies them with the keys of svc. A client that lists a scope of an API may request tokens for it. A guard rule that names one in audience sends it a token for each request.',
      entries: [
        { value: { orders: { audience: 'https://orders.example.com', scopes: ['orders:read', 'orders:write'] } } },
      ],
    },
  ),
  clients,
  clients_directory: clientsDirectory,
  oauth: section('The OAuth server.', {
    access_token_ttl: duration({
      default: '15m',
      description: 'The lifetime of access tokens. Refresh tokens renew them.',
    }),
    refresh_token_ttl: duration({ default: '30d', description: 'The lifetime of refresh tokens.' }),
    authorization_code_ttl: duration({
      default: '60s',
      description: 'The lifetime of authorization codes. Clients exchange them immediately.',
    }),
    device_code_ttl: duration({
      default: '10m',
      description: 'The lifetime of device codes, with enough time to find a phone.',
    }),
    personal_access_token_ttl: duration({ default: '90d', description: 'The lifetime of personal access tokens.' }),
    refresh_grace: duration({
      default: '10s',
      zero: true,
      description:
        'How long svc accepts a used refresh token again, in case the response was lost. Later reuse counts as theft and revokes the grant. svc rejects a used device code immediately, and its reuse revokes the grant after this time.',
    }),
    access_token_alg: choice(ALGORITHMS, {
      default: 'ES256',
      description: 'The signing algorithm of access tokens. ES256 is short and fast.',
    }),
    audience: nullable(
      text({
        example: 'https://api.example',
        description:
          'The audience of access tokens for the scopes that belong to no API of apis. Your APIs must check it. By default app.url.',
      }),
    ),
    access_token_claims: userClaims(
      'Claims about the user in access tokens for the scopes that belong to no API, and in their introspection.',
    ),
    id_token_claims: flag({
      default: true,
      description:
        'Whether ID tokens contain the claims of the granted scopes. Many clients read nothing else. If false, ID tokens contain only what the claims parameter requests, and UserInfo serves the others (OpenID Connect Core 5.4).',
    }),
    skip_logout_confirmation: flag({
      default: false,
      description:
        'Whether a sign-out that an application requests needs no confirmation of the user, if it comes with the ID token of the current session and a registered post_logout_redirect_uri. A client can set it for itself.',
    }),
    client_id_metadata: clientIdMetadata,
    key_rotation: duration({
      default: '90d',
      description:
        'How often svc replaces its signing keys. svc publishes a new key one hour before it signs (or a quarter of this time, if that is less), and keeps an old key until everything it signed has expired. To rotate manually, for example after a leak, run svc key:rotate.',
    }),
  }),
}
