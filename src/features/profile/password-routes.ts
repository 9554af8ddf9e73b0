import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { sendRenewed } from '../../auth/sign-in/sign-in.ts'
import { findUserById } from '../../identity/users.ts'
import { addAccountPages, done, ownAccount, sectionPath } from '../../pages/account/account-pages.ts'
import { formOf, formPage, fresh } from '../../pages/form-page.ts'
import { forgotPage } from '../../pages/links.ts'
import { isPassword } from '../../platform/crypto/stored-password.ts'
import { checkBody } from '../../platform/http/check-body.ts'
import { isSet } from '../../platform/http/flag.ts'
import { changePassword, PasswordBody } from './changes.ts'

const path = sectionPath('password')

/** The section with the password, and the address where password managers look for it. */
const passwordPages: FastifyPluginAsync = async (app) => {
  await addAccountPages(app, 'password')

  async function page(
    request: FastifyRequest,
    reply: FastifyReply,
    { revoke_tokens }: { revoke_tokens?: unknown } = {},
    { errors, status } = fresh,
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

  formPage(app, {
    path,
    operation: 'Password',
    config: ownAccount,
    show: {
      summary: 'change the password',
      description: 'Links to the mail that sets a password if the account has none.',
      page: (request, reply) => page(request, reply),
    },
    submit: {
      config: { alsoAnswers: [404, 429] },
      summary: 'change the password',
      description: 'Like `PUT /user/password`. The form has one field for the new password.',
      next: 'Back to the page.',
      form: formOf('PasswordForm', {
        current_password: 'The current password.',
        password: 'The new password.',
        revoke_tokens: '`1`: revoke API tokens and the access of applications too.',
      }),
      async send(request, reply) {
        const fields = { ...request.body, password_confirmation: request.body.password }
        const body = checkBody(request, PasswordBody, fields)
        await sendRenewed(request, reply, await changePassword(request, body))
        return done(path, 'password_changed')
      },
      again: (request, reply, state) => page(request, reply, request.body, state),
    },
  })
}

export default passwordPages
