import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { provePassword } from '../../auth/sign-in/authenticate.ts'
import { continueSignIn } from '../../auth/sign-in/challenge.ts'
import { identifierOf } from '../../auth/sign-in/identifier.ts'
import { LoginAnswer } from '../../auth/sign-in/login-answer.ts'
import { signOut } from '../../auth/sign-in/sign-in.ts'
import { SeenUserSchema, seenUser } from '../../identity/user-schema.ts'
import { forbidden, HttpError } from '../../platform/errors.ts'
import { isSet } from '../../platform/http/flag.ts'
import { MessageAnswer } from '../../platform/http/message.ts'
import { Type } from '../../platform/json-schema.ts'
import { LoginBody } from './schemas.ts'

const wrongCredentials = 'These credentials do not match our records.'

/** CSRF cookie, login, logout and the signed-in user. */
const session: FastifyPluginAsyncTypebox = async (app) => {
  for (const prefix of app.config.current().compat.prefixes) {
    app.get(
      `/${prefix}/csrf-cookie`,
      {
        config: { access: { family: 'session', caller: 'guest' } },
        schema: {
          operationId: 'getCsrfCookie',
          tags: ['Sessions'],
          summary: 'Set the session cookie and XSRF-TOKEN',
          description: 'Call it before the first unsafe request of a page, and send the cookie back as `X-XSRF-TOKEN`.',
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        app.sessions.sendCookies(request, reply)
        return reply.code(204).send(null)
      },
    )
  }

  app.post(
    '/login',
    {
      config: { access: { family: 'session', caller: 'guest' }, alsoAnswers: [401] },
      schema: {
        operationId: 'login',
        tags: ['Sessions'],
        summary: 'Sign a browser in',
        description:
          'Replaces the session and sets its cookies. With `two_factor: true` the user is not signed in yet: send the code to `/two-factor-challenge`. Wrong credentials get 422, or 401 with `session.login_failure_status: 401`. `rate_limits.login` limits the failures.',
        body: LoginBody,
        response: { 200: LoginAnswer },
      },
    },
    async (request, reply) => {
      const { remember, ...body } = request.body
      const credentials = identifierOf(app.config.current(), body)
      const found = await provePassword(visitOf(request), { ...credentials, channel: 'login' })
      if (!found) {
        const status = app.config.current().session.login_failure_status
        const field = 'email' in credentials ? 'email' : 'username'
        throw new HttpError(status, 'invalid_credentials', wrongCredentials, {
          errors: { [field]: [wrongCredentials] },
        })
      }
      const login = { ...found, remember: isSet(remember), channel: 'login' } as const
      if ((await continueSignIn(request, reply, login)) === 'challenged') return { two_factor: true }
      return { two_factor: false, user: found.user, message: 'Logged in.' }
    },
  )

  app.post(
    '/logout',
    {
      config: { access: { family: 'hybrid', caller: 'required' }, unverified: 'allowed', impersonated: 'allowed' },
      schema: {
        operationId: 'logout',
        tags: ['Sessions'],
        summary: 'End the session, or revoke the token that authenticates the request',
        description:
          'A session also ends its OAuth session, which notifies OAuth clients, and this browser is no longer remembered. Other sessions and tokens stay valid.',
        response: { 200: MessageAnswer },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request)
      if (caller.kind === 'session') await signOut(request, reply)
      else await caller.revoke(visitOf(request))
      return { message: 'Logged out.' }
    },
  )

  app.get(
    '/api/user',
    {
      config: {
        access: { family: 'hybrid', caller: 'required' },
        unverified: 'allowed',
        terms: 'required',
        alsoAnswers: [403],
      },
      schema: {
        operationId: 'getUser',
        tags: ['Account'],
        summary: 'The signed-in user',
        description:
          'A third-party OAuth client sees what its scopes allow: `id` always, names, picture and dates with `profile`, ' +
          '`email` and `email_verified_at` with `email`, `role` with `roles`, `groups` with `groups`.',
        response: { 200: SeenUserSchema },
      },
    },
    async (request) => {
      const { user, profileScopes } = callerOf(request)
      if (!user) throw forbidden()
      return seenUser(user, profileScopes, app.config.current())
    },
  )
}

export default session
