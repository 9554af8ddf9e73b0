import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { visitOf } from '../../auth/access/visit.ts'
import { emailField } from '../../platform/http/fields.ts'
import { PasswordConfirmation } from '../../platform/http/validation.ts'
import { Type } from '../../platform/json-schema.ts'
import { answerRequests, linkSent, requestReset } from './request.ts'
import { passwordReset, resetPassword } from './reset.ts'

const ForgotBody = Type.Object({ email: emailField() }, { title: 'ForgotPasswordRequest', additionalProperties: false })

const ResetBody = Type.Object(
  {
    token: Type.String({ minLength: 1, maxLength: 255, description: 'The token of the link.' }),
    email: emailField(),
    password: Type.String({
      minLength: 1,
      description: 'The new password. svc validates it after the token, so an invalid one does not use the token up.',
    }),
    password_confirmation: PasswordConfirmation,
  },
  { title: 'ResetPasswordRequest', additionalProperties: false },
)

const Status = Type.Object(
  {
    message: Type.String({ description: 'A message for people. Its wording may change.' }),
    status: Type.String({ description: 'The same text.' }),
  },
  { title: 'PasswordResetStatus' },
)

const browsers = {
  forgotPath: '/forgot-password',
  resetPath: '/reset-password',
  names: ['forgotPassword', 'resetPassword'],
  access: { family: 'session', caller: 'guest' },
  note: '',
} as const

const apps = {
  forgotPath: '/svc/forgot-password',
  resetPath: '/svc/reset-password',
  names: ['forgotPasswordInApp', 'resetPasswordInApp'],
  access: { family: 'none', pages: 'trusted' },
  note: ', for apps without cookies',
} as const

/** Password reset by mailed link. */
const passwordResets: FastifyPluginAsyncTypebox = async (app) => {
  answerRequests(app)

  for (const { forgotPath, resetPath, names, access, note } of [browsers, apps]) {
    app.post(
      forgotPath,
      {
        config: { access, limit: 'mail' },
        schema: {
          operationId: names[0],
          tags: ['Password reset'],
          summary: `Mail a link that resets the password${note}`,
          description:
            'The response is the same for every address, unless `passwords.reveal_unknown_email` is set. The link works for `passwords.reset_expires` (60 minutes), once. `rate_limits.mail` limits the requests.',
          body: ForgotBody,
          response: { 200: Status },
        },
      },
      async (request) => {
        await requestReset(visitOf(request), request.body.email)
        return { message: linkSent, status: linkSent }
      },
    )

    app.post(
      resetPath,
      {
        config: { access },
        schema: {
          operationId: names[1],
          tags: ['Password reset'],
          summary: `Reset the password with the token of a mailed link${note}`,
          description:
            'Ends all sessions of the user, revokes the access of applications and mails a notice. Does not sign the user in. A rejected password does not use the token up.',
          body: ResetBody,
          response: { 200: Status },
        },
      },
      async (request) => {
        await resetPassword(visitOf(request), request.body)
        return { message: passwordReset, status: passwordReset }
      },
    )
  }
}

export default passwordResets
