import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { visitOf } from '../../auth/access/visit.ts'
import { challengedUser, passChallenge } from '../../auth/sign-in/challenge.ts'
import type { UserWithPassword } from '../../identity/users.ts'
import { HttpError, notFound } from '../../platform/errors.ts'
import { verifyPasskey } from './assertion.ts'
import { passkeyMethod } from './method.ts'
import { askingOf, challengeLimit, userOptions } from './options.ts'
import { ConfirmAnswer, ConfirmBody, RequestOptionsAnswer } from './schemas.ts'
import { hasPasskey } from './store.ts'
import { frontEndHome, usedMark } from './used.ts'

const guest = { access: { family: 'session', caller: 'guest' } } as const

const nonePending = () =>
  new HttpError(409, 'no_pending_sign_in', 'No sign-in is waiting for a second factor. Please sign in again.')

async function requireChallenged(request: FastifyRequest): Promise<UserWithPassword> {
  const found = await challengedUser(visitOf(request))
  if (!found) throw nonePending()
  return found
}

/** Second factor of a pending sign-in by passkey, in place of a code. */
const secondFactorRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/passkeys/challenge/options',
    {
      config: { ...guest, limit: challengeLimit, alsoAnswers: [404, 409] },
      schema: {
        operationId: 'getPasskeyChallengeOptions',
        tags: ['Passkeys'],
        summary: 'Options for a second factor by passkey',
        description:
          'While a sign-in waits for its second factor. Lists the passkeys of the user, or answers 404 if there are none, and 409 if no sign-in is waiting. Pass the options to `startAuthentication()`, then send the result to `POST /passkeys/challenge` within five minutes. 60 requests per minute and address.',
        response: { 200: RequestOptionsAnswer },
      },
    },
    async (request) => {
      const { user } = await requireChallenged(request)
      if (!(await hasPasskey(app.database, user.id))) throw notFound('This account has no passkey.')
      // Any passkey that verifies the user may sign in without a code, so this one must verify the user too.
      return { options: await userOptions(visitOf(request), 'second_factor', user, 'required') }
    },
  )

  app.post(
    '/passkeys/challenge',
    {
      config: { ...guest, alsoAnswers: [404, 409] },
      schema: {
        operationId: 'answerChallengeWithPasskey',
        tags: ['Passkeys'],
        summary: 'Complete a sign-in with a passkey as its second factor',
        description:
          'Completes the ceremony of `GET /passkeys/challenge/options`, in place of a code. The passkey must verify the user.',
        body: ConfirmBody,
        response: { 200: ConfirmAnswer },
      },
    },
    async (request, reply) => {
      const found = await requireChallenged(request)
      const asking = askingOf(visitOf(request), 'second_factor', found.user.id)
      const { userVerified } = await verifyPasskey(visitOf(request), request.body.credential, asking)
      const isSignedIn = await passChallenge(request, reply, found, passkeyMethod(userVerified))
      if (!isSignedIn) throw nonePending()
      app.cookies.set(request, reply, ...usedMark)
      return { redirect: frontEndHome(app) }
    },
  )
}

export default secondFactorRoutes
