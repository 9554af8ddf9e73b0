import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { findUserById } from '../../identity/users.ts'
import { ownAccount, remedyOf, sectionAnswers } from '../../pages/account/account-pages.ts'
import { continuing } from '../../pages/after-form.ts'
import { withReturn } from '../../pages/continuation.ts'
import { accountPage, confirmPage } from '../../pages/links.ts'
import { addPages } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import { isPassword } from '../../platform/crypto/stored-password.ts'
import { type FieldErrors, HttpError } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { localPath } from '../../platform/http/return-to.ts'
import { Type } from '../../platform/json-schema.ts'
import { codeUserOf, confirm } from './confirm.ts'
import { mailCode } from './mailed-code.ts'

const path = confirmPage
const codePath = `${path}/code`

const returnTo = uncheckedText('The path of svc to continue to.')

const Form = Type.Object(
  {
    return_to: returnTo,
    password: uncheckedText('The password.'),
    code: uncheckedText('The mailed code, for a user without a password.'),
  },
  { title: 'ConfirmationForm', additionalProperties: false },
)

const CodeForm = Type.Object({ return_to: returnTo }, { title: 'ConfirmationCodeForm', additionalProperties: false })

const targetOf = (value: unknown): string => localPath(value) ?? accountPage

/** Page that confirms the user before a sensitive change, and then continues. */
const confirmationPages: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app, { redirectFor: (error, request) => remedyOf(error, request, accountPage) })

  async function page(
    request: FastifyRequest,
    reply: FastifyReply,
    { target, sent = false }: { target: string; sent?: boolean },
    errors: FieldErrors = {},
    status = 200,
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

  app.get(
    path,
    {
      config: { ...ownAccount, alsoAnswers: [] },
      schema: {
        operationId: 'showConfirmation',
        tags: ['Account pages'],
        summary: 'Page: confirm that it is you',
        description: 'Asks for the password, or for a mailed code if the account has no password.',
        querystring: Type.Object({
          return_to: returnTo,
          sent: uncheckedText('`1`: the code was mailed.'),
          error: uncheckedText('Set if the confirmation at a provider failed.'),
        }),
        response: { 200: sectionAnswers[200], 303: sectionAnswers[303] },
      },
    },
    (request, reply) => {
      const { return_to, sent, error } = request.query
      const failed = typeof error === 'string' ? { provider: [textsOf(request)('account-confirm.not_confirmed')] } : {}
      return page(request, reply, { target: targetOf(return_to), sent: sent === '1' }, failed)
    },
  )

  app.post(
    path,
    {
      config: { ...ownAccount, alsoAnswers: [403, 422, 429] },
      schema: {
        operationId: 'submitConfirmation',
        tags: ['Account pages'],
        summary: 'Form: confirm that it is you',
        description: 'Like `POST /user/confirm-password`. Shows the form again if the password or the code is wrong.',
        consumes: [formType],
        body: Form,
        response: { 200: continuing, 303: Type.Null({ description: 'To `return_to` or the account page.' }) },
      },
    },
    async (request, reply) => {
      const { return_to, ...proof } = request.body
      const target = targetOf(return_to)
      try {
        await confirm(request, proof)
        return reply.redirect(target, 303)
      } catch (error) {
        if (!(error instanceof HttpError) || !error.errors) throw error
        const state = { target, sent: proof.code !== undefined }
        return page(request, reply.headers(error.headers), state, error.errors, error.statusCode)
      }
    },
  )

  app.post(
    codePath,
    {
      config: { ...ownAccount, limit: 'mail', alsoAnswers: [403, 422] },
      schema: {
        operationId: 'submitConfirmationCode',
        tags: ['Account pages'],
        summary: 'Form: mail a confirmation code',
        description: 'Like `POST /user/confirmation-code`.',
        consumes: [formType],
        body: CodeForm,
        response: { 303: Type.Null({ description: 'Back to the page.' }) },
      },
    },
    async (request, reply) => {
      await mailCode(request, await codeUserOf(request))
      return reply.redirect(withReturn(path, targetOf(request.body.return_to), { sent: '1' }), 303)
    },
  )
}

export default confirmationPages
