/** Paths of the OAuth library. */
export const protocolRoutes = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  device_authorization: '/oauth/device/code',
  code_verification: '/oauth/device',
  userinfo: '/oauth/userinfo',
  introspection: '/oauth/introspect',
  revocation: '/oauth/revoke',
  end_session: '/oauth/logout',
  pushed_authorization_request: '/oauth/par',
  jwks: '/.well-known/jwks.json',
} as const

/** Protocol path: methods, purpose, callers and responses. */
export interface ProtocolPath {
  methods: readonly ('GET' | 'POST' | 'OPTIONS')[]
  summary: string
  /** Endpoints for programs ignore cookies and accept JSON and forms. Endpoints for browsers show pages. */
  caller: 'program' | 'browser'
  answers: string
  /** Whether sites of clients may post to it (OpenID Connect Core section 3.1.2.1, RP-Initiated Logout section 2). */
  isEntry?: true
  /** Fields of a POST besides client authentication, for the API description. */
  fields?: readonly string[]
}

/** Fields that authenticate a client without HTTP Basic. */
export const clientFields = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'] as const

const authorizationFields = [
  ...['response_type', 'redirect_uri', 'scope', 'state', 'nonce', 'code_challenge', 'code_challenge_method'],
  ...['prompt', 'max_age', 'login_hint', 'id_token_hint', 'claims', 'resource', 'response_mode', 'dpop_jkt'],
] as const

const program = (
  methods: ProtocolPath['methods'],
  summary: string,
  answers: string,
  fields: readonly string[] = [],
): ProtocolPath => ({ methods: [...methods, 'OPTIONS'], summary, caller: 'program', answers, fields })

const page = (
  methods: ProtocolPath['methods'],
  summary: string,
  answers: string,
  fields: readonly string[] = [],
): ProtocolPath => ({ methods, summary, caller: 'browser', answers, fields })

/** All protocol paths, including those that the library adds to its routes. */
export const protocolPaths: Readonly<Record<string, ProtocolPath>> = {
  [protocolRoutes.authorization]: {
    ...page(
      ['GET', 'POST'],
      'Authorization endpoint (RFC 6749 section 3.1)',
      'Leads to sign-in, consent or the redirect URI.',
      ['client_id', 'request_uri', ...authorizationFields],
    ),
    isEntry: true,
  },
  '/oauth/authorize/:uid': page(['GET'], 'An authorization goes on after sign-in or consent', 'Leads on.'),
  [protocolRoutes.token]: program(['POST'], 'Token endpoint (RFC 6749 section 3.2)', 'Tokens (section 5.1).', [
    ...['grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'device_code', 'scope', 'resource'],
    ...['username', 'password', 'otp', 'subject_token', 'subject_token_type', 'requested_token_type', 'audience'],
  ]),
  [protocolRoutes.device_authorization]: program(
    ['POST'],
    'Device authorization endpoint (RFC 8628 section 3.1)',
    'Codes for the device and the person (section 3.2).',
    ['scope', 'resource'],
  ),
  [protocolRoutes.code_verification]: page(['GET', 'POST'], 'Page: enter the code of a device', 'The form.', [
    ...['xsrf', 'user_code', 'confirm', 'abort'],
  ]),
  '/oauth/device/:uid': page(['GET'], 'A device authorization goes on after sign-in or consent', 'Leads on.'),
  [protocolRoutes.userinfo]: program(
    ['GET', 'POST'],
    'UserInfo endpoint (OpenID Connect Core section 5.3)',
    'Claims about the user.',
    ['access_token'],
  ),
  [protocolRoutes.introspection]: program(['POST'], 'Token introspection (RFC 7662)', 'What the token is.', [
    ...['token', 'token_type_hint'],
  ]),
  [protocolRoutes.revocation]: program(['POST'], 'Token revocation (RFC 7009)', 'Revoked, or never good.', [
    ...['token', 'token_type_hint'],
  ]),
  [protocolRoutes.end_session]: {
    ...page(['GET', 'POST'], 'Page: sign out (RP-Initiated Logout section 2)', 'The question.'),
    isEntry: true,
  },
  '/oauth/logout/confirm': page(['POST'], 'Form: sign out', 'Leads on.', ['xsrf', 'logout']),
  '/oauth/logout/success': page(['GET'], 'Page: signed out', 'The page.'),
  [protocolRoutes.pushed_authorization_request]: program(
    ['POST'],
    'Pushed authorization requests (RFC 9126)',
    'A request_uri.',
    authorizationFields,
  ),
  [protocolRoutes.jwks]: program(['GET'], 'The keys that verify tokens (RFC 7517)', 'A key set.'),
  '/.well-known/openid-configuration': program(['GET'], 'Discovery (OpenID Connect Discovery)', 'Metadata.'),
  '/.well-known/oauth-authorization-server': program(['GET'], 'Discovery (RFC 8414)', 'Metadata.'),
}
