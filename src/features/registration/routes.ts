import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { notFound } from '../../errors.ts'
import { EmptyAnswer, sendEmpty } from '../../http/empty-answer.ts'
import { continueSignIn } from '../../login/challenge.ts'
import { RegisterBody, register } from './register.ts'

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
      await continueSignIn(request, reply, await register(request, request.body))
      return sendEmpty(reply, 201)
    },
  )
}

export default registration
