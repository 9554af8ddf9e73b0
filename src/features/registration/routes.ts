import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { isTermsMissing } from '../../auth/access/accepted-terms.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { continueSignIn } from '../../auth/sign-in/challenge.ts'
import { checkTokenSignIn } from '../../auth/sign-in/token-sign-in.ts'
import { issueForSignIn } from '../../auth/tokens/issue.ts'
import { UserSchema } from '../../identity/user-schema.ts'
import { notFound } from '../../platform/errors.ts'
import { EmptyAnswer, sendEmpty } from '../../platform/http/empty-answer.ts'
import { nullable } from '../../platform/http/fields.ts'
import { nameField } from '../../platform/http/validation.ts'
import { Type } from '../../platform/json-schema.ts'
import { RegisterBody, register } from './register.ts'

const { remember: _, ...accountFields } = RegisterBody.properties

const AppRegisterBody = Type.Object(
  {
    ...accountFields,
    device_name: Type.Optional(
      nullable(Type.String({ ...nameField, description: 'Signs the app in: the name of the new API token.' })),
    ),
  },
  { title: 'AppRegisterRequest', additionalProperties: false },
)

const AppRegisterAnswer = Type.Object(
  {
    token: Type.Union([Type.String(), Type.Null()], {
      description:
        'Plain text `<id>|<secret>`: shown only once. Null without `device_name`, and if the user must verify the address first.',
    }),
    user: UserSchema,
  },
  { title: 'AppRegistration', description: 'The new account.' },
)

/** Self-registration. */
const registration: FastifyPluginAsyncTypebox = async (app) => {
  app.addHook('onRequest', async () => {
    if (!app.config.current().registration.enabled) throw notFound()
  })

  app.post(
    '/register',
    {
      config: {
        access: { family: 'session', caller: 'guest' },
        limit: 'register',
        alsoAnswers: [404, 409],
      },
      schema: {
        operationId: 'register',
        tags: ['Account'],
        summary: 'Create an account and sign the browser in',
        description:
          'Sends the verification mail. Only registration reveals that an address is taken. `rate_limits.register` limits the requests.',
        body: RegisterBody,
        response: { 201: EmptyAnswer },
      },
    },
    async (request, reply) => {
      await continueSignIn(request, reply, await register(visitOf(request), request.body))
      return sendEmpty(reply, 201)
    },
  )

  app.post(
    '/svc/register',
    {
      config: { access: { family: 'none', pages: 'trusted' }, limit: 'register', alsoAnswers: [404] },
      schema: {
        operationId: 'registerInApp',
        tags: ['Account'],
        summary: 'Create an account in an app, without cookies',
        description:
          'Like `POST /register`. With `device_name`, the response has an API token. `rate_limits.register` limits the requests.',
        body: AppRegisterBody,
        response: { 201: AppRegisterAnswer },
      },
    },
    async (request, reply) => {
      const { device_name, ...account } = request.body
      const { user, password, channel } = await register(visitOf(request), account)
      reply.code(201)
      if (!device_name) return { token: null, user }
      const facts = { channel, isNewAccount: true, proof: { terms: account.terms } }
      const signIn = await checkTokenSignIn(visitOf(request), { user, password }, facts).catch((error) => {
        // The terms changed meanwhile. The account exists.
        if (isTermsMissing(error)) return 'terms'
        throw error
      })
      // A new account has no second factor, so only an unverified address refuses it.
      if (typeof signIn === 'string') return { token: null, user }
      return { token: await issueForSignIn(visitOf(request), signIn, device_name), user }
    },
  )
}

export default registration
