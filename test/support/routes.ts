import type { FastifyInstance } from 'fastify'

/** A path with the methods that the router knows there, including those that answer 405. */
export interface RoutedPath {
  path: string
  methods: string[]
}

/** Every path of the router, from its printed tree, without the one that takes the paths of other services. */
export function routedPaths(app: FastifyInstance): RoutedPath[] {
  const parents: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const match = /^([│ ]*)[├└]── (.*) \(([A-Z, ]+)\)$/.exec(line)
      if (!match) return []
      const [, indent = '', part = '', methods = ''] = match
      const depth = indent.length / 4
      parents.length = depth
      parents.push(part)
      const path = parents.join('')
      // SCIM and shared signals describe themselves: test/features/scim, test/features/shared-signals. The admin pages show what the
      // admin API describes: test/features/admin/pages. Browsers bind sessions by themselves: test/features/bound-sessions.
      // The printed tree has no name above its last route.
      return ['/svc/guard*', '/*'].includes(path) ||
        /^\/scim\/v2|^\/ssf\/|ssf-configuration$|^\/admin(?!\/v1)|^\/session\/binding/.test(path)
        ? []
        : [{ path, methods: methods.split(', ') }]
    })
}

/** The path as in an API description: `/api/tokens/{id}`. */
export const openApiPath = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

/** The path of a record that may exist. */
export const exampleUrl = (path: string): string => path.replace(/:\w+/g, '1')

/** Operations without authentication: every other route needs a caller, and says so in its `security`. */
export const openOperations: ReadonlySet<string> = new Set([
  'GET /health/live',
  'GET /health/ready',
  'GET /openapi.json',
  'GET /svc/csrf-cookie',
  // A proxy asks about a request, whose credential it passes on.
  'GET /svc/guard',
  // It explains to developers why a request was rejected.
  'GET /svc/diagnose',
  'POST /login',
  'POST /login/email-code',
  'POST /login/email-code/verify',
  'POST /register',
  'POST /two-factor-challenge',
  'GET /favicon.ico',
  // It redirects to the page, which requires a session.
  'GET /.well-known/change-password',
  'POST /forgot-password',
  'POST /reset-password',
  'GET /passkeys/login/options',
  'POST /passkeys/login',
  'GET /passkeys/challenge/options',
  'POST /passkeys/challenge',
  // The token of an invitation authenticates the request.
  'POST /passkeys/invitation/options',
  'POST /passkeys/invitation',
  'POST /svc/token',
  'POST /svc/passkeys/options',
  'POST /svc/register',
  'POST /svc/email-code',
  'POST /svc/forgot-password',
  'POST /svc/reset-password',
  // Social sign-in: browsers return from providers, and mobile apps submit their codes.
  'GET /auth/providers',
  'GET /terms',
  'GET /auth/{provider}/redirect',
  'GET /auth/{provider}/callback',
  'POST /auth/{provider}/callback',
  'POST /auth/{provider}/token',
  // They look up the session themselves: a browser without one is redirected to sign in and back.
  'GET /email/verify/{id}/{hash}',
  'GET /verify-email/{id}/{hash}',
  // The signed link of a mail authenticates the request.
  'GET /email/undo/{id}/{signature}',
  'POST /email/undo/{id}/{signature}',
  // Pages and their assets.
  'GET /',
  'GET /errors',
  'GET /login',
  'GET /register',
  'GET /forgot-password',
  'GET /oauth/login',
  'POST /oauth/login',
  'GET /oauth/link-provider',
  'POST /oauth/link-provider',
  'GET /oauth/verify-email',
  'GET /oauth/terms',
  'POST /oauth/verify-email',
  'GET /oauth/register',
  'POST /oauth/register',
  'POST /oauth/language',
  'GET /oauth/email-code',
  'POST /oauth/email-code',
  'GET /oauth/email-code/verify',
  'POST /oauth/email-code/verify',
  'GET /oauth/invitation/{token}',
  'POST /oauth/invitation/{token}',
  'POST /oauth/invitation/{token}/providers/{id}',
  'POST /oauth/sign-out',
  'GET /oauth/forgot-password',
  'POST /oauth/forgot-password',
  'GET /oauth/unlock/{id}',
  'POST /oauth/unlock/{id}',
  'GET /two-factor-challenge',
  'GET /reset-password/{token}',
  'POST /reset-password/{token}',
  'GET /assets/{name}',
  'GET /docs',
  'GET /docs/{file}',
  'GET /test-login',
  'POST /test-login',
  // Status lists of access tokens: they name no token and no user.
  'GET /oauth/status/{list}',
  // OAuth endpoints: clients authenticate there, and browsers are asked to sign in.
  'GET /oauth/authorize',
  'POST /oauth/authorize',
  'GET /oauth/authorize/{uid}',
  'POST /oauth/token',
  'POST /oauth/device/code',
  'GET /oauth/device',
  'POST /oauth/device',
  'GET /oauth/device/{uid}',
  'GET /oauth/userinfo',
  'POST /oauth/userinfo',
  'POST /oauth/introspect',
  'POST /oauth/revoke',
  'GET /oauth/logout',
  'POST /oauth/logout',
  'POST /oauth/logout/confirm',
  'GET /oauth/logout/success',
  'POST /oauth/par',
  'GET /oauth/interaction/{uid}',
  'POST /oauth/interaction/{uid}',
  'GET /.well-known/device-bound-sessions',
  'GET /.well-known/jwks.json',
  'GET /.well-known/apple-app-site-association',
  'GET /.well-known/assetlinks.json',
  'GET /.well-known/security.txt',
  'GET /.well-known/openid-configuration',
  'GET /.well-known/oauth-authorization-server',
  'GET /.well-known/oauth-protected-resource/{name}',
])
