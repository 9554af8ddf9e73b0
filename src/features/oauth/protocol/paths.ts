/** Paths that the OAuth library handles, by the library's names of the routes. */
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

/** A protocol path: its methods and who calls it. */
export interface ProtocolPath {
  methods: readonly ('GET' | 'POST' | 'OPTIONS')[]
  /** Programs send forms or JSON, without cookies. Browsers get a page or a redirect. */
  caller: 'program' | 'browser'
  /** Whether clients' sites may post to it (OpenID Connect Core section 3.1.2.1, RP-Initiated Logout section 2). */
  isEntry?: true
}

const program = (...methods: ('GET' | 'POST')[]): ProtocolPath => ({
  methods: [...methods, 'OPTIONS'],
  caller: 'program',
})

const page = (...methods: ('GET' | 'POST')[]): ProtocolPath => ({ methods, caller: 'browser' })

/** Every path that svc passes to the library, including those that the library derives from its routes. */
export const protocolPaths: Readonly<Record<string, ProtocolPath>> = {
  [protocolRoutes.authorization]: { ...page('GET', 'POST'), isEntry: true },
  '/oauth/authorize/:uid': page('GET'),
  [protocolRoutes.token]: program('POST'),
  [protocolRoutes.device_authorization]: program('POST'),
  [protocolRoutes.code_verification]: page('GET', 'POST'),
  '/oauth/device/:uid': page('GET'),
  [protocolRoutes.userinfo]: program('GET', 'POST'),
  [protocolRoutes.introspection]: program('POST'),
  [protocolRoutes.revocation]: program('POST'),
  [protocolRoutes.end_session]: { ...page('GET', 'POST'), isEntry: true },
  '/oauth/logout/confirm': page('POST'),
  '/oauth/logout/success': page('GET'),
  [protocolRoutes.pushed_authorization_request]: program('POST'),
  [protocolRoutes.jwks]: program('GET'),
  '/.well-known/openid-configuration': program('GET'),
  '/.well-known/oauth-authorization-server': program('GET'),
}
