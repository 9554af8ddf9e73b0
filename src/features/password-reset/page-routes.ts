import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { continuing } from '../../pages/after-form.ts'
import { withReturn } from '../../pages/continuation.ts'
import { isOwnFrontEnd, startPage } from '../../pages/links.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import { type FieldErrors, HttpError, notFound } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { isEmail } from '../../platform/http/formats.ts'
import { Type } from '../../platform/json-schema.ts'
import { requestReset } from './request.ts'
import { checkLink, resetPassword } from './reset.ts'

const forgotPath = '/oauth/forgot-password'
const loginPath = '/oauth/login'

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const TokenParams = Type.Object({
  token: Type.String({ maxLength: 255, description: 'The token of the mailed link.' }),
})

const ForgotForm = Type.Object(
  { email: uncheckedText('The email address.') },
  { title: 'ForgotPasswordForm', additionalProperties: false },
)

const ResetForm = Type.Object(
  {
    email: uncheckedText('The email address.'),
    password: uncheckedText('The new password.'),
    password_confirmation: uncheckedText('The new password again.'),
  },
  { title: 'ResetPasswordForm', additionalProperties: false },
)
const Page = { 200: pageAnswers.page }
const guest = { family: 'session', caller: 'guest' } as const

/** Password reset pages, for installations without a front end. */
const resetPages: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)

  app.get(
    forgotPath,
    {
      config: { access: guest },
      schema: {
        operationId: 'showForgotPassword',
        tags: ['Pages'],
        summary: 'Page: request a password reset',
        description: 'The sign-in page links here. The form needs no JavaScript.',
        querystring: Type.Object({ email: uncheckedText('Prefills the email address.') }),
        response: Page,
      },
    },
    async (request, reply) => forgotPage(reply, { email: text(request.query.email) }),
  )

  app.post(
    forgotPath,
    {
      config: { access: guest, limit: 'mail' },
      schema: {
        operationId: 'submitForgotPassword',
        tags: ['Pages'],
        summary: 'Form: mail a link that resets the password',
        description:
          'Shows the same page for every valid address, unless `passwords.reveal_unknown_email` is set. `rate_limits.mail` limits the requests.',
        consumes: [formType],
        body: ForgotForm,
        response: Page,
      },
    },
    async (request, reply) => {
      const email = text(request.body.email)
      if (!isEmail(email)) {
        return forgotPage(reply, { email, errors: { email: ['The email field must be a valid email address.'] } }, 422)
      }
      try {
        await requestReset(request, email)
      } catch (error) {
        if (!(error instanceof HttpError) || !error.errors) throw error
        return forgotPage(reply, { email, errors: error.errors }, error.statusCode)
      }
      return forgotPage(reply, { email, isSent: true })
    },
  )

  const resetPath = '/reset-password/:token'
  const onlyHere = '404 unless `app.frontend_url` equals `app.url`.'
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.url === resetPath && !isOwnFrontEnd(app.config.current())) throw notFound()
  })

  app.get(
    resetPath,
    {
      config: { access: guest },
      schema: {
        operationId: 'showResetPassword',
        tags: ['Pages'],
        summary: 'Page: choose a new password',
        description: onlyHere,
        params: TokenParams,
        querystring: Type.Object({ email: uncheckedText('Prefills the email address.') }),
        response: { ...Page, 403: pageAnswers.refused },
      },
    },
    async (request, reply) => {
      const { token } = request.params
      const email = text(request.query.email)
      // Without the address, only the form can tell.
      const isUseless = isEmail(email) && !(await checkLink(request, { email, token })).isValid
      return isUseless ? uselessPage(reply, email) : resetPage(reply, { token, email })
    },
  )

  app.post(
    resetPath,
    {
      config: { access: guest },
      schema: {
        operationId: 'submitResetPassword',
        tags: ['Pages'],
        summary: 'Form: reset the password',
        description: onlyHere,
        params: TokenParams,
        consumes: [formType],
        body: ResetForm,
        response: { 200: continuing, 303: Type.Null({ description: 'To the sign-in page.' }) },
      },
    },
    async (request, reply) => {
      const { token } = request.params
      const { email, password, password_confirmation } = request.body
      const form = { token, email: text(email), password: text(password), password_confirmation }
      try {
        await resetPassword(request, form)
      } catch (error) {
        if (!(error instanceof HttpError) || !error.errors) throw error
        if (error.errors.email) return uselessPage(reply, form.email, error.statusCode)
        return resetPage(reply, { token, email: form.email, errors: error.errors }, error.statusCode)
      }
      return reply.redirect(`${loginPath}?reset=1`, 303)
    },
  )

  function forgotPage(
    reply: FastifyReply,
    page: { email?: string; errors?: FieldErrors; isSent?: boolean },
    status = 200,
  ) {
    const { email = '', errors = {}, isSent = false } = page
    return reply.page('forgot-password', { action: forgotPath, email, errors, isSent, loginHref: loginPath }, status)
  }

  /** Offers a new mail, because the link is invalid, expired or used. */
  function uselessPage(reply: FastifyReply, email: string, status = 403) {
    const config = app.config.current()
    const words = textsOf(reply.request)
    return reply.page(
      'error',
      {
        heading: words('verify.invalid'),
        texts: [words('reset-password.invalid_text')],
        link: {
          href: withReturn(forgotPath, null, email === '' ? {} : { email }),
          label: words('reset-password.again'),
        },
        homeHref: startPage(config),
      },
      status,
    )
  }

  function resetPage(
    reply: FastifyReply,
    { token, email, errors = {} }: { token: string; email: string; errors?: FieldErrors },
    status = 200,
  ) {
    const minLength = app.config.current().passwords.min_length
    const action = `/reset-password/${encodeURIComponent(token)}`
    return reply.page('reset-password', { action, token, email, errors, minLength }, status)
  }
}

export default resetPages
