import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { callerOf } from '../../access/access.ts'
import { unauthenticated, validationFailed } from '../../errors.ts'
import { authenticateAgain } from '../../login/authenticate.ts'
import { confirmationAge, markConfirmed } from '../../login/recent-password.ts'
import { EmptyAnswer, sendEmpty } from '../../plugins/empty-answer.ts'
import { originOf, recordEvent } from '../../users/events.ts'

const wrong = 'The provided password was incorrect.'

/** The password asked for once more, before what only its owner may do. */
const passwordConfirmation: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/user/confirm-password',
    {
      config: {
        access: { family: 'session', caller: 'required' },
        unverified: 'allowed',
        alsoAnswers: [422, 429],
      },
      schema: {
        summary: 'Confirm the password of the signed-in user',
        body: Type.Object({ password: Type.Optional(Type.Unknown()) }, { additionalProperties: false }),
        response: { 201: EmptyAnswer },
      },
    },
    async (request, reply) => {
      const { user } = callerOf(request)
      if (!user) throw unauthenticated()
      const { password } = request.body
      const isText = typeof password === 'string' && password !== ''
      if (!isText || !(await authenticateAgain(request, user, password, 'confirm')))
        throw validationFailed({ password: [wrong] })
      await markConfirmed(request)
      const origin = originOf(request)
      await app.database.transaction((tx) => recordEvent(tx, origin, { type: 'password_confirmed', userId: user.id }))
      return sendEmpty(reply, 201)
    },
  )

  app.get(
    '/user/confirmed-password-status',
    {
      config: { access: { family: 'session', caller: 'required' } },
      schema: {
        summary: 'Whether the password was confirmed lately',
        description: 'When it was, the header `X-Retry-After` holds how many seconds ago.',
        querystring: Type.Object({
          seconds: Type.Optional(
            Type.String({ description: 'The age that counts as lately, instead of the configured.' }),
          ),
        }),
        response: { 200: Type.Object({ confirmed: Type.Boolean() }) },
      },
    },
    async (request, reply) => {
      const age = confirmationAge(request)
      const { seconds } = request.query
      const limit = /^\d{1,9}$/.test(seconds ?? '')
        ? Number(seconds) * 1000
        : app.config.current().passwords.confirm_timeout
      const confirmed = age !== null && age < limit
      if (confirmed) reply.header('x-retry-after', String(Math.floor(age / 1000)))
      return { confirmed }
    },
  )
}

export default passwordConfirmation
