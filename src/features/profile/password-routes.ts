import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { sendRenewed } from '../../auth/sign-in/sign-in.ts'
import { findUserById } from '../../identity/users.ts'
import {
  addAccountPages,
  ownAccount,
  sectionAnswers,
  sectionPath,
  submitForm,
} from '../../pages/account/account-pages.ts'
import { forgotPage } from '../../pages/links.ts'
import { isPassword } from '../../platform/crypto/stored-password.ts'
import type { FieldErrors } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { checkBody } from '../../platform/http/check-body.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { isSet } from '../../platform/http/flag.ts'
import { Type } from '../../platform/json-schema.ts'
import { changePassword, PasswordBody } from './changes.ts'

const path = sectionPath('password')

const Form = Type.Object(
  {
    current_password: uncheckedText('The current password.'),
    password: uncheckedText('The new password.'),
    revoke_tokens: uncheckedText('`1`: revoke API tokens and the access of applications too.'),
  },
  { title: 'PasswordForm', additionalProperties: false },
)

/** The section with the password, and the address where password managers look for it. */
const passwordPages: FastifyPluginAsyncTypebox = async (app) => {
  await addAccountPages(app, 'password')

  async function page(
    request: FastifyRequest,
    reply: FastifyReply,
    { revoke_tokens }: { revoke_tokens?: unknown } = {},
    errors: FieldErrors = {},
    status = 200,
  ) {
    const user = requireUser(request)
    const found = await findUserById(app.database, user.id)
    return reply.page(
      'account-password',
      {
        action: path,
        hasPassword: isPassword(found?.password ?? null),
        forgotHref: forgotPage,
        minLength: app.config.current().passwords.min_length,
        email: user.email,
        revokeTokens: isSet(revoke_tokens),
        errors,
      },
      status,
    )
  }

  app.get(
    path,
    {
      config: ownAccount,
      schema: {
        operationId: 'showPassword',
        tags: ['Account pages'],
        summary: 'Page: change the password',
        description: 'Links to the mail that sets a password if the account has none.',
        response: sectionAnswers,
      },
    },
    (request, reply) => page(request, reply),
  )

  app.post(
    path,
    {
      config: { ...ownAccount, alsoAnswers: [404, 429] },
      schema: {
        operationId: 'submitPassword',
        tags: ['Account pages'],
        summary: 'Form: change the password',
        description: 'Like `PUT /user/password`. The form has one field for the new password.',
        consumes: [formType],
        body: Form,
        response: { 303: Type.Null({ description: 'Back to the page.' }) },
      },
    },
    (request, reply) =>
      submitForm(reply, path, {
        change: async () => {
          const fields = { ...request.body, password_confirmation: request.body.password }
          const body = checkBody(request, PasswordBody, fields)
          await sendRenewed(request, reply, await changePassword(request, body))
          return 'password_changed'
        },
        show: (errors, status) => page(request, reply, request.body, errors, status),
      }),
  )
}

export default passwordPages
