import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { visitOf } from '../../auth/access/visit.ts'
import { confirmationAge } from '../../auth/sign-in/recent-password.ts'
import { EmptyAnswer, sendEmpty } from '../../platform/http/empty-answer.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'
import { codeUserOf, confirm } from './confirm.ts'
import { mailCode } from './mailed-code.ts'

const ConfirmPasswordBody = Type.Object(
  {
    password: uncheckedText('The password of the user.', ['string', 'null']),
    code: uncheckedText('The mailed code, for a user without a password.', ['string', 'null']),
  },
  { title: 'ConfirmPasswordRequest', additionalProperties: false },
)

const ConfirmationCodeSent = Type.Object(
  {
    status: Type.String({ description: '`confirmation-code-sent`.' }),
    message: Type.String({ description: 'A message for people. Its wording may change.' }),
  },
  { title: 'ConfirmationCodeSent', description: 'svc sends the code by mail.' },
)

const PasswordConfirmation = Type.Object(
  { confirmed: Type.Boolean({ description: 'Whether the confirmation is recent enough.' }) },
  {
    title: 'PasswordConfirmation',
    description: 'Whether the user confirmed the password recently.',
    headers: {
      'X-Retry-After': { type: 'integer', minimum: 0, description: 'The age of a recent confirmation in seconds.' },
    },
  },
)

/** Confirmation before sensitive changes: by password, or by a mailed code for users without one. */
const passwordConfirmation: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/user/confirm-password',
    {
      config: {
        access: { family: 'session', caller: 'required' },
        unverified: 'allowed',
        alsoAnswers: [403, 422],
      },
      schema: {
        operationId: 'confirmPassword',
        tags: ['Account'],
        summary: 'Confirm the password of the signed-in user, or a mailed code',
        description:
          'Unlocks routes that answer 423, in this session, for `passwords.confirm_timeout` (3 hours). Users without a password send `code`, which `POST /user/confirmation-code` mails to them.',
        body: ConfirmPasswordBody,
        response: { 201: EmptyAnswer },
      },
    },
    async (request, reply) => {
      await confirm(visitOf(request), request.body)
      return sendEmpty(reply, 201)
    },
  )

  app.post(
    '/user/confirmation-code',
    {
      config: {
        access: { family: 'session', caller: 'required' },
        unverified: 'allowed',
        limit: 'mail',
        alsoAnswers: [403, 422],
      },
      schema: {
        operationId: 'sendConfirmationCode',
        tags: ['Account'],
        summary: 'Mail a confirmation code to a user without a password',
        description:
          'The code is valid once, for ten minutes, in this session: `POST /user/confirm-password` with `code`.',
        response: { 202: ConfirmationCodeSent },
      },
    },
    async (request, reply) => {
      await mailCode(visitOf(request), await codeUserOf(visitOf(request)))
      const message = 'A confirmation code has been sent to your email address.'
      return reply.code(202).send({ status: 'confirmation-code-sent', message })
    },
  )

  app.get(
    '/user/confirmed-password-status',
    {
      config: { access: { family: 'session', caller: 'required' } },
      schema: {
        operationId: 'getPasswordConfirmation',
        tags: ['Account'],
        summary: 'Password confirmation status',
        description:
          'Tells whether routes that answer 423 are unlocked in this session. While they are, `X-Retry-After` is the age of the confirmation.',
        querystring: Type.Object({
          seconds: Type.Optional(
            Type.String({ description: 'Maximum age in seconds, instead of the configured one.' }),
          ),
        }),
        response: { 200: PasswordConfirmation },
      },
    },
    async (request, reply) => {
      const age = confirmationAge(visitOf(request))
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
