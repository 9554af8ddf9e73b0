import { errorHeaders } from '../../../platform/http/description/problems.ts'
import { sharedResponse } from '../../../platform/http/description/shared-responses.ts'
import { Type } from '../../../platform/json-schema.ts'

const seconds = (description: string) => Type.Integer({ minimum: 0, description })
const text = (description: string) => Type.Optional(Type.String({ description }))

const uri = (description: string) => Type.String({ format: 'uri', description })

const OAuthError = Type.Object(
  {
    error: Type.String({ description: 'The error code of the protocol.' }),
    error_description: text('A sentence for developers.'),
    scope: text('The scope that the error is about.'),
    state: text('The `state` of the authorization request.'),
    iss: text('The issuer (RFC 9207).'),
  },
  {
    title: 'OAuthError',
    description: 'An error of the protocol (RFC 6749 section 5.2).',
    examples: [{ error: 'invalid_grant', error_description: 'grant request is invalid' }],
  },
)

const { challenge, retryAfter, limit } = errorHeaders

export const dpopNonce = {
  'DPoP-Nonce': { type: 'string', description: 'The nonce for the next proof (RFC 9449 section 8).' },
} as const
const authentication = { ...challenge, ...dpopNonce }

/** Errors of the protocol by status: name, description and headers. */
const errors: Readonly<Record<number, readonly [string, string, Readonly<Record<string, object>>?]>> = {
  400: ['InvalidRequest', 'The request or its grant is invalid.', authentication],
  401: ['Unauthenticated', 'The client or the token is invalid.', authentication],
  403: ['InsufficientScope', 'The token does not have the scope `openid`.', authentication],
  419: ['CsrfMismatch', 'Another site sent the form.'],
  429: ['TooManyRequests', 'Too many requests. Retry after `Retry-After` seconds.', limit],
  503: ['Unavailable', 'Temporarily unavailable. Retry after `Retry-After` seconds.', retryAfter],
}

const html = { 'text/html': { schema: { type: 'string' } } }

/** Responses with errors of the protocol. Browsers get a page from the endpoints that they open. */
export const protocolErrors = (statuses: readonly number[], caller: 'program' | 'browser') =>
  Object.fromEntries(
    statuses.map((status) => {
      const [name, description, headers = {}] = errors[status] ?? ['', '']
      const content = { ...(caller === 'browser' ? html : {}), 'application/json': { schema: OAuthError } }
      const shared = `OAuth${name}${caller === 'browser' ? 'Page' : ''}`
      return [status, sharedResponse({ name: shared, description, schema: OAuthError, headers, content })]
    }),
  )

export const TokenResponse = Type.Object(
  {
    access_token: Type.String({ description: 'A JWT (RFC 9068).' }),
    token_type: Type.String({ description: '`Bearer` or `DPoP`.' }),
    expires_in: seconds('Seconds until the access token expires.'),
    scope: text('The granted scopes, separated by spaces.'),
    refresh_token: text('With `offline_access`. Each use replaces it.'),
    id_token: text('With `openid` (OpenID Connect Core section 2).'),
    issued_token_type: text('For token exchange (RFC 8693 section 2.2.1).'),
  },
  {
    title: 'TokenResponse',
    description: 'Tokens (RFC 6749 section 5.1).',
    examples: [{ access_token: 'eyJhbGciOi…', token_type: 'Bearer', expires_in: 3600, scope: 'orders:read' }],
  },
)

export const DeviceAuthorization = Type.Object(
  {
    device_code: Type.String({ description: 'The device polls the token endpoint with it.' }),
    user_code: Type.String({ description: 'The user enters it on the verification page.' }),
    verification_uri: Type.String({ format: 'uri', description: 'Where the user enters the code.' }),
    verification_uri_complete: Type.Optional(Type.String({ format: 'uri', description: 'With the user code.' })),
    expires_in: seconds('Seconds until both codes expire.'),
    interval: Type.Optional(seconds('Minimum seconds between two polls.')),
  },
  { title: 'DeviceAuthorization', description: 'Codes for the device and the user (RFC 8628 section 3.2).' },
)

const Introspection = Type.Object(
  {
    active: Type.Boolean({ description: 'Whether the token is valid. If not, the response has no other member.' }),
    scope: text('The granted scopes, separated by spaces.'),
    abilities: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The abilities of an API token, or the scopes of an access token. Refresh tokens have none.',
      }),
    ),
    role: text("The user's role, for clients with `introspect: true`."),
    token_id: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The id of an API token, as in `GET /api/tokens`.' }),
    ),
    name: text('The name of an API token or a personal access token.'),
    client_id: text('The client of the token. API tokens have none.'),
    token_type: text('`Bearer` or `DPoP`. Refresh tokens have none.'),
    sub: text('The id of the user, or of the client.'),
    aud: text('The audience.'),
    iss: Type.Optional(Type.String({ format: 'uri', description: 'The issuer: svc.' })),
    exp: Type.Optional(Type.Integer({ format: 'int64', description: 'When the token expires, in Unix seconds.' })),
    iat: Type.Optional(Type.Integer({ format: 'int64', description: 'When the token was issued, in Unix seconds.' })),
    jti: text('The id of the token.'),
  },
  { title: 'Introspection', description: 'The state of a token (RFC 7662 section 2.2).', additionalProperties: true },
)

const IntrospectionList = Type.Object(
  { tokens: Type.Array(Introspection, { description: 'The states of the tokens, in the order of the request.' }) },
  { title: 'IntrospectionList', description: 'The states of several tokens.' },
)

export const IntrospectionAnswer = Type.Union([Introspection, IntrospectionList], {
  title: 'IntrospectionAnswer',
  description: 'The state of `token`, or the states of `tokens[]`.',
})

export const UserInfo = Type.Object(
  {
    sub: Type.String({ description: 'The id of the user.' }),
    name: text('With the scope `profile`.'),
    email: text('With the scope `email`.'),
    email_verified: Type.Optional(Type.Boolean({ description: 'With the scope `email`.' })),
  },
  { title: 'UserInfo', description: 'Claims about the user, by scope.', additionalProperties: true },
)

export const PushedRequest = Type.Object(
  {
    request_uri: Type.String({ description: 'Pass it to the authorization endpoint. It works once.' }),
    expires_in: seconds('Seconds until it expires.'),
  },
  { title: 'PushedAuthorizationRequest', description: 'A stored authorization request (RFC 9126 section 2.2).' },
)

export const KeySet = Type.Object(
  {
    keys: Type.Array(
      Type.Object(
        {
          kty: Type.String({ description: 'The key type, for example `RSA`.' }),
          kid: Type.String({ description: 'The id that tokens name in their header.' }),
          alg: text('The algorithm.'),
          use: text('`sig`.'),
        },
        { title: 'JsonWebKey', description: 'A public key (RFC 7517 section 4).', additionalProperties: true },
      ),
      { description: 'The current keys, and earlier ones that unexpired tokens still need.' },
    ),
  },
  { title: 'JsonWebKeySet', description: 'The keys that verify tokens of svc (RFC 7517 section 5).' },
)

export const ServerMetadata = Type.Object(
  {
    issuer: uri('The issuer of all tokens.'),
    authorization_endpoint: uri('Where a client sends the browser.'),
    token_endpoint: uri('Where a client gets tokens.'),
    jwks_uri: uri('The keys that verify tokens.'),
  },
  {
    title: 'ServerMetadata',
    description: 'Endpoints and capabilities (RFC 8414 section 2).',
    additionalProperties: true,
  },
)
