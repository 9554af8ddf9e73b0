import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { findUserById } from '../../identity/users.ts'
import { ownAccount, remedyOf } from '../../pages/account/account-pages.ts'
import { continuing } from '../../pages/after-form.ts'
import { withReturn } from '../../pages/continuation.ts'
import { formOf, formPage, formRoute, fresh, sectionAnswers } from '../../pages/form-page.ts'
import { accountPage, confirmPage } from '../../pages/links.ts'
import { addPages } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import { isPassword } from '../../platform/crypto/stored-password.ts'
import type { FieldErrors } from '../../platform/errors.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { localPath } from '../../platform/http/return-to.ts'
import { Type } from '../../platform/json-schema.ts'
import { codeUserOf, confirm } from './confirm.ts'
import { mailCode } from './mailed-code.ts'

const path = confirmPage
const codePath = `${path}/code`

const returnTo = 'The path of svc to continue to.'

const targetOf = (value: unknown): string => localPath(value) ?? accountPage

/** Page that confirms the user before a sensitive change, and then continues. */
const confirmationPages: FastifyPluginAsync = async (app) => {
  await addPages(app, { redirectFor: (error, request) => remedyOf(error, request, accountPage) })

  async function page(
    request: FastifyRequest,
    reply: FastifyReply,
    { target, sent = false }: { target: string; sent?: boolean },
    { errors, status } = fresh,
  ) {
    const user = requireUser(request)
    const hasPassword = isPassword((await findUserById(app.database, user.id))?.password ?? null)
    const factors = []
    for (const { stepUp } of app.features) if (stepUp && (await stepUp.isEnrolled(app, user.id))) factors.push(stepUp)
    const others = []
    if (!hasPassword)
      for (const { confirmationPage } of app.features) others.push(await confirmationPage?.(app, user.id))
    return reply.page(
      'account-confirm',
      {
        action: path,
        returnTo: target,
        hasPassword,
        sent,
        codeAction: codePath,
        email: user.email,
        errors,
        parts: [
          ...factors.map(({ part }) => ({ ...part, data: { ...part.data, code: true } })),
          ...others.filter((part) => part !== undefined),
        ],
      },
      status,
    )
  }

  formPage(app, {
    path,
    operation: 'Confirmation',
    config: ownAccount,
    show: {
      config: { alsoAnswers: [] },
      query: Type.Object({
        return_to: uncheckedText(returnTo),
        sent: uncheckedText('`1`: the code was mailed.'),
        error: uncheckedText('Set if the confirmation at a provider failed.'),
      }),
      summary: "confirm it's you",
      description: 'Asks for the password, or for a mailed code if the account has no password.',
      response: { 200: sectionAnswers[200], 303: sectionAnswers[303] },
      page(request, reply) {
        const { return_to, sent, error } = request.query
        const errors: FieldErrors =
          typeof error === 'string' ? { provider: [textsOf(request)('account-confirm.not_confirmed')] } : {}
        return page(request, reply, { target: targetOf(return_to), sent: sent === '1' }, { errors, status: 200 })
      },
    },
    submit: {
      config: { alsoAnswers: [403, 422, 429] },
      summary: "confirm it's you",
      description: 'Like `POST /user/confirm-password`. Shows the form again if the password or the code is wrong.',
      response: { 200: continuing },
      next: 'To `return_to` or the account page.',
      form: formOf('ConfirmationForm', {
        return_to: returnTo,
        password: 'The password.',
        code: 'The mailed code, for a user without a password.',
      }),
      async send(request) {
        const { return_to, ...proof } = request.body
        await confirm(visitOf(request), proof)
        return targetOf(return_to)
      },
      again(request, reply, state) {
        const { return_to, code } = request.body
        return page(request, reply, { target: targetOf(return_to), sent: code !== undefined }, state)
      },
    },
  })

  formRoute(app, {
    path: codePath,
    operation: 'ConfirmationCode',
    config: { ...ownAccount, limit: 'mail', alsoAnswers: [403, 422] },
    summary: 'mail a confirmation code',
    description: 'Like `POST /user/confirmation-code`.',
    next: 'Back to the page.',
    form: formOf('ConfirmationCodeForm', { return_to: returnTo }),
    async send(request) {
      await mailCode(visitOf(request), await codeUserOf(visitOf(request)))
      return withReturn(path, targetOf(request.body.return_to), { sent: '1' })
    },
  })
}

export default confirmationPages
