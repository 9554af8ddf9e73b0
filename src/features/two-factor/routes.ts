import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requireUser } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { challengedUser, completeChallenge } from '../../auth/sign-in/challenge.ts'
import { secondFactorErrors } from '../../auth/sign-in/second-factor.ts'
import { findTwoFactor } from '../../identity/two-factor.ts'
import { challengeExpired, notFound, validationFailed } from '../../platform/errors.ts'
import { EmptyAnswer, sendEmpty } from '../../platform/http/empty-answer.ts'
import { isSet } from '../../platform/http/flag.ts'
import { Type } from '../../platform/json-schema.ts'
import { disable, enable, regenerate } from './change.ts'
import { ChallengeBody, ConfirmBody, EnableBody, QrCodeAnswer, SecretAnswer } from './schemas.ts'
import { setupOf } from './setup.ts'

/** The second factor by authenticator app: its challenge at sign-in, and its management. */
const twoFactor: FastifyPluginAsyncTypebox = async (app) => {
  app.addHook('onRequest', async () => {
    if (!app.config.current().two_factor.enabled) throw notFound()
  })

  app.post(
    '/two-factor-challenge',
    {
      config: { access: { family: 'session', caller: 'guest' }, alsoAnswers: [404] },
      schema: {
        operationId: 'answerTwoFactorChallenge',
        tags: ['Sessions'],
        summary: 'Complete a sign-in with its second factor',
        description:
          'After `/login` answered `two_factor: true`. After a wrong code, the user can try again, for ten minutes.',
        body: ChallengeBody,
        response: { 204: Type.Null({ description: 'Signed in.' }) },
      },
    },
    async (request, reply) => {
      if (!(await completeChallenge(request, reply, request.body))) {
        throw (await challengedUser(visitOf(request)))
          ? validationFailed(secondFactorErrors(request.body))
          : challengeExpired('code')
      }
      return reply.code(204).send(null)
    },
  )

  await app.register(management)
}

const confirmedFirst = 'Requires a recently confirmed password (423) with `two_factor.confirm_password`.'

/** Management of the user's own second factor. */
const management: FastifyPluginAsyncTypebox = async (app) => {
  const own = {
    access: { family: 'session', caller: 'required' },
    recentPassword: ({ two_factor }: ReturnType<typeof app.config.current>) => two_factor.confirm_password,
    alsoAnswers: [404],
  } as const

  app.post(
    '/user/two-factor-authentication',
    {
      config: own,
      schema: {
        operationId: 'enableTwoFactor',
        tags: ['Two-factor authentication'],
        summary: 'Enable the second factor, or replace it',
        description: `Creates a secret and recovery codes. Sign-ins ask for a code only after \`POST /user/confirmed-two-factor-authentication\`. Does nothing if a secret exists, unless \`force\` replaces it, which disables a confirmed second factor until the new one is confirmed. ${confirmedFirst}`,
        body: EnableBody,
        response: { 200: EmptyAnswer },
      },
    },
    async (request, reply) => {
      await enable(visitOf(request), requireUser(request), isSet(request.body.force) ? 'any' : 'none')
      return sendEmpty(reply, 200)
    },
  )

  app.post(
    '/user/confirmed-two-factor-authentication',
    {
      config: { ...own, alsoAnswers: [404] },
      schema: {
        operationId: 'confirmTwoFactor',
        tags: ['Two-factor authentication'],
        summary: 'Confirm the second factor with its first code',
        description: `Completes the setup: from now on, sign-ins ask for a code. Ends the other sessions of the user, which signed in without one, and mails a notice. A code works once. ${confirmedFirst}`,
        body: ConfirmBody,
        response: { 200: EmptyAnswer },
      },
    },
    async (request, reply) => {
      if (!(await app.secondFactor.confirm(visitOf(request), requireUser(request), request.body))) {
        throw validationFailed(secondFactorErrors({}))
      }
      return sendEmpty(reply, 200)
    },
  )

  app.delete(
    '/user/two-factor-authentication',
    {
      config: own,
      schema: {
        operationId: 'disableTwoFactor',
        tags: ['Two-factor authentication'],
        summary: 'Disable the second factor',
        description: `Also deletes the recovery codes, and mails a notice. Does nothing without a second factor. ${confirmedFirst}`,
        response: { 200: EmptyAnswer },
      },
    },
    async (request, reply) => {
      await disable(visitOf(request), requireUser(request))
      return sendEmpty(reply, 200)
    },
  )

  app.get(
    '/user/two-factor-qr-code',
    {
      config: own,
      schema: {
        operationId: 'getTwoFactorQrCode',
        tags: ['Two-factor authentication'],
        summary: 'The QR code for the authenticator app',
        description: `Show it during the setup, then confirm with a code of the app. Returns \`[]\` without a second factor. ${confirmedFirst}`,
        response: { 200: QrCodeAnswer },
      },
    },
    async (request) => {
      const setup = await setupOf(visitOf(request))
      return setup ? { svg: setup.svg, url: setup.url } : []
    },
  )

  app.get(
    '/user/two-factor-secret-key',
    {
      config: own,
      schema: {
        operationId: 'getTwoFactorSecretKey',
        tags: ['Two-factor authentication'],
        summary: 'The secret to type into the authenticator app',
        description: `For authenticator apps that cannot scan the QR code. 404 without a second factor. ${confirmedFirst}`,
        response: { 200: SecretAnswer },
      },
    },
    async (request) => {
      const setup = await setupOf(visitOf(request))
      if (!setup) throw notFound('Two factor authentication has not been enabled.')
      return { secretKey: setup.secret }
    },
  )

  app.get(
    '/user/two-factor-recovery-codes',
    {
      config: own,
      schema: {
        operationId: 'getRecoveryCodes',
        tags: ['Two-factor authentication'],
        summary: 'The recovery codes',
        description: `Each of the eight codes works once, in place of a code of the app. svc replaces a used one. Returns \`[]\` without a second factor. ${confirmedFirst}`,
        response: { 200: Type.Array(Type.String()) },
      },
    },
    async (request) => {
      const user = requireUser(request)
      const stored = await findTwoFactor(app.database, user.id)
      return stored ? app.secondFactor.recoveryCodesOf(user.id, stored) : []
    },
  )

  app.post(
    '/user/two-factor-recovery-codes',
    {
      config: own,
      schema: {
        operationId: 'regenerateRecoveryCodes',
        tags: ['Two-factor authentication'],
        summary: 'Replace the recovery codes with eight new ones',
        description: `The old codes stop working, and svc mails a notice. Read the new codes with GET. Does nothing without a second factor. ${confirmedFirst}`,
        response: { 200: EmptyAnswer },
      },
    },
    async (request, reply) => {
      await regenerate(visitOf(request), requireUser(request))
      return sendEmpty(reply, 200)
    },
  )
}

export default twoFactor
