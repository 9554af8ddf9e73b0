import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { authenticate } from '../../auth/sign-in/authenticate.ts'
import { continueSignIn } from '../../auth/sign-in/challenge.ts'
import { checkTokenSignIn } from '../../auth/sign-in/token-sign-in.ts'
import { issueForSignIn, tokenOwner } from '../../auth/tokens/issue.ts'
import { requireRevoked } from '../../auth/tokens/revoke.ts'
import { listTokens } from '../../auth/tokens/store.ts'
import { SeenUserSchema, seenUser } from '../../identity/user-schema.ts'
import { addPageHeaders } from '../../pages/page-headers.ts'
import { addPages } from '../../pages/pages.ts'
import { forbidden } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { idParameter } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'
import { setFlash, takeFlash } from './flash.ts'

const guarded = { access: { family: 'hybrid', caller: 'required' }, testPage: 'page' } as const
const wrongCredentials = 'These credentials do not match our records.'

const LoginForm = Type.Object(
  {
    email: Type.String({ format: 'email', maxLength: 255, description: 'The email address.' }),
    password: Type.String({ minLength: 1, description: 'The password.' }),
  },
  { title: 'TestLoginForm', additionalProperties: false },
)

/** The caller as JSON, also for a browser: errors are JSON too. */
const testUser: FastifyPluginAsyncTypebox = async (app) => {
  await addPageHeaders(app)
  app.get(
    '/test-user',
    {
      config: { ...guarded, testPage: 'query-token', alsoAnswers: [403] },
      schema: {
        operationId: 'getTestUser',
        tags: ['Test page'],
        summary: 'Test page: the caller',
        description: 'Also reads an API token from `?token=`, which other routes ignore. Development only.',
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

/** The browser test page: sign in, see your tokens, try one. Development only. */
const testPage: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(testUser)
  await addPages(app)

  app.get(
    '/test-login',
    {
      config: { access: { family: 'session', caller: 'guest' } },
      schema: {
        operationId: 'showTestLogin',
        tags: ['Test page'],
        summary: 'Test page: sign-in form',
        description: 'Development only.',
      },
    },
    async (_request, reply) => reply.page('test-login', { errors: {} }),
  )

  app.post(
    '/test-login',
    {
      config: { access: { family: 'session', caller: 'guest' }, alsoAnswers: [401] },
      schema: {
        operationId: 'submitTestLogin',
        tags: ['Test page'],
        summary: 'Test page: sign in and create a token named test-token',
        description:
          'Signs the browser in, creates an API token and redirects to `/test-tokens`, which shows the token once. Development only.',
        consumes: [formType],
        body: LoginForm,
        response: {
          302: Type.Null({ description: 'To /test-tokens, with the token shown once.' }),
        },
      },
    },
    async (request, reply) => {
      const found = await authenticate(visitOf(request), { ...request.body, channel: 'test_page' })
      const checked = found && (await checkTokenSignIn(visitOf(request), found, { channel: 'test_page' }))
      if (checked === 'email_unverified') {
        return reply.page('test-login', { errors: { email: ['Your email address is not verified.'] } }, 401)
      }
      if (!checked || checked === 'second_factor') {
        return reply.page('test-login', { errors: { email: [wrongCredentials] } }, 401)
      }
      const { user, password, channel } = checked
      await continueSignIn(request, reply, { user, password, remember: false, channel, isDecided: true })
      const token = await issueForSignIn(visitOf(request), checked, 'test-token')
      setFlash(request, reply, { message: 'Token test-token created. It is shown only once:', token })
      return reply.redirect('/test-tokens', 302)
    },
  )

  app.get(
    '/test-tokens',
    {
      config: { ...guarded, alsoAnswers: [403] },
      schema: {
        operationId: 'showTestTokens',
        tags: ['Test page'],
        summary: 'Test page: your tokens',
        description: 'Requires a session or an API token. Development only.',
      },
    },
    async (request, reply) => {
      const owner = tokenOwner(callerOf(request))
      const flash = takeFlash(request, reply)
      return reply.page('test-tokens', { flash, tokens: await listTokens(app.database, owner) })
    },
  )

  app.delete(
    '/test-tokens/:id',
    {
      config: { ...guarded, alsoAnswers: [403] },
      schema: {
        operationId: 'revokeTestToken',
        tags: ['Test page'],
        summary: 'Test page: revoke a token',
        description: 'Forms send it as POST with `_method=DELETE`. Development only.',
        params: Type.Object({ id: idParameter('The id of the token.') }),
        response: { 302: Type.Null({ description: 'Back to /test-tokens.' }) },
      },
    },
    async (request, reply) => {
      await requireRevoked(visitOf(request), tokenOwner(callerOf(request)), BigInt(request.params.id))
      setFlash(request, reply, { message: 'Token revoked.', token: null })
      return reply.redirect('/test-tokens', 302)
    },
  )
}

export default testPage
