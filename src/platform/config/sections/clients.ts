import { Type } from '../../json-schema.ts'
import { federated } from './federated.ts'
import { choice, duration, type ExampleEntry, entry, flag, list, nullable, secrets, text, textOrList } from './kinds.ts'
import { userClaims } from './user-claims.ts'

const GRANTS = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'device_code',
  'password',
  'token_exchange',
] as const
/** Maximum number of secrets of a client: svc compares each request with all of them. */
const MAX_SECRETS = 4

const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const
export const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const

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
    expected: 'text of at most 255 printable ASCII characters without spaces',
    example: 'web',
    description:
      'The public identifier of the client. It must not consist of digits only or start with svc-, which are reserved.',
  }),
  name: nullable(
    text({
      maxLength: 255,
      example: 'Example web app',
      description: 'The name on the consent page. By default the client_id.',
    }),
  ),
  logo_uri: nullable(
    text({
      format: 'image-url',
      maxLength: 65_536,
      example: 'https://app.example/logo.png',
      description:
        'The logo on the pages for sign-in, consent and device codes: an https URL, or a data: URL, with which browsers load nothing from another host. null means none.',
    }),
  ),
  tos_uri: nullable(
    text({
      format: 'https-url',
      example: 'https://app.example/terms',
      description: 'The terms of service of the client, an https URL. The same pages link to it. null means none.',
    }),
  ),
  policy_uri: nullable(
    text({
      format: 'https-url',
      example: 'https://app.example/privacy',
      description: 'The privacy policy of the client, an https URL. The same pages link to it. null means none.',
    }),
  ),
  type: choice(['confidential', 'public'], {
    example: 'confidential',
    description: 'confidential: can keep a secret (a backend). public: cannot (an SPA, an app), and must use PKCE.',
  }),
  application_type: choice(['web', 'native'], {
    default: 'web',
    description: 'native allows loopback redirect URIs with any port, and schemes such as com.example.app:/cb.',
  }),
  secret: Type.Optional(
    secrets({
      minItems: 1,
      maxItems: MAX_SECRETS,
      example: { file: '/run/secrets/web' },
      description:
        'The client secret. Alternatives: secret_hash, jwks or jwks_uri. To replace a secret without a gap, list the new one first and then the old one, and remove the old one when svc client:show no longer reports its use. A secret from a file must not contain a comma, which separates several.',
    }),
  ),
  secret_hash: Type.Optional(
    textOrList({
      pattern: '^sha256:[0-9a-f]{64}$',
      maxItems: MAX_SECRETS,
      hidden: true,
      expected: 'sha256: and 64 lowercase hexadecimal digits, or a list of these',
      example: 'sha256:<64 hexadecimal digits>',
      description:
        'The hash of the client secret, or a list like that of secret, so that the file has no secret. svc client:secret prints a new secret with its hash.',
    }),
  ),
  jwks: Type.Optional(
    entry(
      'Public keys of the client.',
      {
        keys: Type.Array(key, {
          minItems: 1,
          description: 'JSON Web Keys, public parts only.',
          'x-svc-reload': 'live',
        }),
      },
      { keys: [{ kty: 'EC', crv: 'P-256', x: '…', y: '…' }] },
    ),
  ),
  jwks_uri: Type.Optional(
    text({
      format: 'web-url',
      example: 'https://app.example/jwks.json',
      description: "The URL of the client's public keys.",
    }),
  ),
  federated,
  token_endpoint_auth_method: nullable(
    choice(AUTH_METHODS, {
      example: 'client_secret_basic',
      description:
        'The authentication method. private_key_jwt requires jwks or jwks_uri, and none is for public clients. By default svc accepts both client_secret_basic and client_secret_post, because client libraries differ.',
    }),
  ),
  redirect_uris: uris('Redirect URIs: https, or http on loopback. They must match exactly.'),
  redirect_schemes: list(
    text({
      pattern: '^[a-z][a-z0-9+-]*$',
      expected: 'a scheme in lowercase letters, such as cursor',
      description: 'A scheme.',
    }),
    {
      default: [],
      example: ['cursor'],
      description:
        'Schemes without a dot that redirect_uris of a native client may use, such as cursor or vscode. Any program can claim such a scheme on a device, so prefer a reverse domain name or loopback.',
    },
  ),
  post_logout_redirect_uris: uris('Where svc may redirect a browser after sign-out.'),
  backchannel_logout_uri: nullable(
    text({
      format: 'web-url',
      example: 'https://app.example/backchannel-logout',
      description: "Receives a back-channel logout request when a user's session ends.",
    }),
  ),
  grants: list(choice(GRANTS, { description: 'A grant.' }), {
    example: ['authorization_code', 'refresh_token'],
    description: 'The grants that the client may use. May be empty if introspect is true.',
  }),
  scopes: list(text({ description: 'A scope.' }), {
    default: [],
    description:
      'Scopes of scopes and apis that the client may request, roles and groups if it may read those of the user, svc:admin if it may use the admin API, svc:scim if it may provision users and groups by SCIM, and svc:signals if it may read a stream of signals. Every client may request openid, profile, email and offline_access.',
  }),
  first_party: flag({ default: false, description: 'Whether to skip the consent page. For your own applications.' }),
  id_token_signed_response_alg: choice(ALGORITHMS, {
    default: 'RS256',
    description: 'The signing algorithm of ID tokens. Every client supports RS256.',
  }),
  id_token_claims: nullable(
    flag({
      example: true,
      description: 'Whether ID tokens contain the claims of the granted scopes. By default oauth.id_token_claims.',
    }),
  ),
  skip_logout_confirmation: nullable(
    flag({
      example: true,
      description:
        "Whether the client's sign-out requests need no confirmation of the user. By default oauth.skip_logout_confirmation.",
    }),
  ),
  claims: userClaims(
    'Claims about the user in all ID tokens of the client, besides those of the granted scopes. For your own applications.',
  ),
  require_par: flag({ default: false, description: 'Whether authorization requests must be pushed (PAR).' }),
  dpop: flag({ default: false, description: 'Whether access tokens must be bound to a key (DPoP).' }),
  fapi: flag({
    default: false,
    description:
      'Whether the client must follow the FAPI 2.0 Security Profile. Requires jwks or jwks_uri. ID tokens are signed with ES256 unless you choose another algorithm than RS256.',
  }),
  audience: nullable(
    text({
      example: 'https://api.example',
      description: 'The audience of access tokens for the scopes that belong to no API. By default oauth.audience.',
    }),
  ),
  access_token_ttl: nullable(
    duration({ example: '15m', description: 'The lifetime of access tokens. By default oauth.access_token_ttl.' }),
  ),
  refresh_token_ttl: nullable(
    duration({ example: '30d', description: 'The lifetime of refresh tokens. By default oauth.refresh_token_ttl.' }),
  ),
  introspect: flag({
    default: false,
    description: 'Whether the client may introspect tokens of other clients. For APIs.',
  }),
  exchange: list(text({ description: 'A client_id.' }), {
    default: [],
    description:
      'Clients whose access tokens this client may exchange with the grant token_exchange. svc-api-tokens allows API tokens, svc-first-party the tokens of sessions.',
  }),
  may_act_for: Type.Optional(
    entry(
      'What the client may do for users as an agent, by token exchange (RFC 8693). Its tokens then name it in the claim act.',
      {
        scopes: list(text({ description: 'A scope.' }), {
          minItems: 1,
          example: ['orders:read'],
          description: "The scopes that its tokens may have. A token gets only those that the user's token has too.",
        }),
        max_ttl: duration({ default: '5m', max: '1d', description: 'The maximum lifetime of its tokens.' }),
        apis: nullable(
          list(text({ description: 'The name of an API.' }), {
            minItems: 1,
            example: ['orders'],
            description: 'The APIs of apis that its tokens may be for. By default each one for which it has scopes.',
          }),
        ),
      },
      { scopes: ['orders:read'], max_ttl: '5m', apis: ['orders'] },
    ),
  ),
  cors_origins: nullable(
    list(text({ format: 'origin', description: 'An origin.' }), {
      example: ['https://app.example'],
      description: 'Origins that may call the protocol endpoints from a browser. By default those of redirect_uris.',
    }),
  ),
  allow_private_addresses: flag({
    default: false,
    description: 'Whether jwks_uri, backchannel_logout_uri and the issuers in federated may be on private addresses.',
  }),
})

const CLIENTS: readonly ExampleEntry[] = [
  {
    about: 'a web application with a backend.',
    value: {
      client_id: 'web',
      name: 'Example web app',
      type: 'confidential',
      secret: { file: '/run/secrets/web' },
      redirect_uris: ['https://app.example/cb'],
      grants: ['authorization_code', 'refresh_token'],
      scopes: ['orders:read'],
    },
  },
  {
    about: 'a machine. The file has only the hash of its secret.',
    value: {
      client_id: 'robot',
      name: 'Nightly job',
      type: 'confidential',
      secret_hash: 'sha256:<64 hexadecimal digits>',
      grants: ['client_credentials'],
      scopes: ['orders:read'],
    },
  },
  {
    about: 'a machine that signs with its own key. It publishes the public key at a URL.',
    value: {
      client_id: 'bank',
      name: 'Bank',
      type: 'confidential',
      jwks_uri: 'https://bank.example/jwks.json',
      grants: ['client_credentials'],
    },
  },
  {
    about: 'a single-page application.',
    value: {
      client_id: 'spa',
      name: 'Example SPA',
      type: 'public',
      redirect_uris: ['http://localhost:5173/cb'],
      grants: ['authorization_code', 'refresh_token'],
    },
  },
  {
    about: 'a device without a keyboard.',
    value: { client_id: 'tv', name: 'Example TV', type: 'public', grants: ['device_code', 'refresh_token'] },
  },
]

/** The client registry. */
export const clients = Type.Array(client, {
  default: [],
  description: 'The OAuth clients.',
  'x-svc-reload': 'live',
  'x-svc-entries': CLIENTS,
})
