/** Where the OAuth library answers: its own routes, and what the hand-over gives it. */
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

/** A protocol path: its methods, what it is for, who calls it and what they get. */
export interface ProtocolPath {
  methods: readonly ('GET' | 'POST' | 'OPTIONS')[]
  summary: string
  /** A program's endpoint takes no cookies, and bodies in JSON as well as forms; a browser's is a page or leads to one. */
  caller: 'program' | 'browser'
  answers: string
}

const program = (methods: ProtocolPath['methods'], summary: string, answers: string): ProtocolPath => ({
  methods: [...methods, 'OPTIONS'],
  summary,
  caller: 'program',
  answers,
})

const page = (methods: ProtocolPath['methods'], summary: string, answers: string): ProtocolPath => ({
  methods,
  summary,
  caller: 'browser',
  answers,
})

/** Every path that is handed over, those that the library adds to its routes included. */
export const protocolPaths: Readonly<Record<string, ProtocolPath>> = {
  [protocolRoutes.authorization]: page(
    ['GET', 'POST'],
    'Authorization endpoint (RFC 6749 section 3.1)',
    'Leads to sign-in, consent or the redirect URI.',
  ),
  '/oauth/authorize/:uid': page(['GET'], 'An authorization goes on after sign-in or consent', 'Leads on.'),
  [protocolRoutes.token]: program(['POST'], 'Token endpoint (RFC 6749 section 3.2)', 'Tokens (section 5.1).'),
  [protocolRoutes.device_authorization]: program(
    ['POST'],
    'Device authorization endpoint (RFC 8628 section 3.1)',
    'Codes for the device and the person (section 3.2).',
  ),
  [protocolRoutes.code_verification]: page(['GET', 'POST'], 'Page: enter the code of a device', 'The form.'),
  '/oauth/device/:uid': page(['GET'], 'A device authorization goes on after sign-in or consent', 'Leads on.'),
  [protocolRoutes.userinfo]: program(
    ['GET', 'POST'],
    'UserInfo endpoint (OpenID Connect Core section 5.3)',
    'Claims about the user.',
  ),
  [protocolRoutes.introspection]: program(['POST'], 'Token introspection (RFC 7662)', 'What the token is.'),
  [protocolRoutes.revocation]: program(['POST'], 'Token revocation (RFC 7009)', 'Revoked, or never good.'),
  [protocolRoutes.end_session]: page(
    ['GET', 'POST'],
    'Page: sign out (RP-Initiated Logout section 2)',
    'The question.',
  ),
  '/oauth/logout/confirm': page(['POST'], 'Form: sign out', 'Leads on.'),
  '/oauth/logout/success': page(['GET'], 'Page: signed out', 'The page.'),
  [protocolRoutes.pushed_authorization_request]: program(
    ['POST'],
    'Pushed authorization requests (RFC 9126)',
    'A request_uri.',
  ),
  [protocolRoutes.jwks]: program(['GET'], 'The keys that verify tokens (RFC 7517)', 'A key set.'),
  '/.well-known/openid-configuration': program(['GET'], 'Discovery (OpenID Connect Discovery)', 'Metadata.'),
  '/.well-known/oauth-authorization-server': program(['GET'], 'Discovery (RFC 8414)', 'Metadata.'),
}
