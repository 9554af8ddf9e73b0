import { Type } from 'typebox'
import { sharedResponse } from '../../../http/description/shared-responses.ts'

const text = (description: string) => Type.Optional(Type.String({ description }))
const seconds = (description: string) => Type.Integer({ minimum: 0, description })

const OAuthError = Type.Object(
  {
    error: Type.String({ description: 'The error code of the protocol.' }),
    error_description: text('A sentence for developers.'),
  },
  {
    title: 'OAuthError',
    description: 'An error of the protocol (RFC 6749 section 5.2).',
    examples: [{ error: 'invalid_grant', error_description: 'grant request is invalid' }],
  },
)

/** Errors of the protocol by status. */
export const protocolErrors = {
  400: sharedResponse({
    name: 'OAuthInvalidRequest',
    description: 'The request or its grant is invalid.',
    schema: OAuthError,
  }),
  401: sharedResponse({
    name: 'OAuthUnauthenticated',
    description: 'The client or the token is invalid.',
    schema: OAuthError,
  }),
  429: sharedResponse({
    name: 'OAuthTooManyRequests',
    description: 'Too many requests. Retry after `Retry-After` seconds.',
    schema: OAuthError,
  }),
  503: sharedResponse({
    name: 'OAuthUnavailable',
    description: 'Temporarily unavailable. Retry after `Retry-After` seconds.',
    schema: OAuthError,
  }),
}

export const TokenResponse = Type.Object(
  {
    access_token: Type.String(),
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
    verification_uri: Type.String({ format: 'uri' }),
    verification_uri_complete: Type.Optional(Type.String({ format: 'uri', description: 'With the user code.' })),
    expires_in: seconds('Seconds until both codes expire.'),
    interval: Type.Optional(seconds('Minimum seconds between two polls.')),
  },
  { title: 'DeviceAuthorization', description: 'Codes for the device and the user (RFC 8628 section 3.2).' },
)

export const Introspection = Type.Object(
  {
    active: Type.Boolean({ description: 'Whether the token is valid. If not, the response has no other member.' }),
    scope: text('The granted scopes, separated by spaces.'),
    client_id: Type.Optional(Type.String()),
    token_type: Type.Optional(Type.String()),
    sub: text('The id of the user, or of the client.'),
    aud: Type.Optional(Type.Unsafe<string | string[]>({ type: ['string', 'array'], items: { type: 'string' } })),
    iss: Type.Optional(Type.String({ format: 'uri' })),
    exp: Type.Optional(Type.Integer({ description: 'Unix time in seconds.' })),
    iat: Type.Optional(Type.Integer({ description: 'Unix time in seconds.' })),
    jti: Type.Optional(Type.String()),
  },
  { title: 'Introspection', description: 'The state of a token (RFC 7662 section 2.2).', additionalProperties: true },
)

export const UserInfo = Type.Object(
  {
    sub: Type.String({ description: 'The id of the user.' }),
    name: text('With the scope `profile`.'),
    email: text('With the scope `email`.'),
    email_verified: Type.Optional(Type.Boolean()),
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
        { kty: Type.String(), kid: Type.String(), alg: text('The algorithm.'), use: text('`sig`.') },
        { title: 'JsonWebKey', description: 'A public key (RFC 7517 section 4).', additionalProperties: true },
      ),
    ),
  },
  { title: 'JsonWebKeySet', description: 'The keys that verify tokens of svc (RFC 7517 section 5).' },
)

export const ServerMetadata = Type.Object(
  {
    issuer: Type.String({ format: 'uri' }),
    authorization_endpoint: Type.String({ format: 'uri' }),
    token_endpoint: Type.String({ format: 'uri' }),
    jwks_uri: Type.String({ format: 'uri' }),
  },
  {
    title: 'ServerMetadata',
    description: 'Endpoints and capabilities (RFC 8414 section 2).',
    additionalProperties: true,
  },
)
