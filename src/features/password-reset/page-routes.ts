import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { visitOf } from '../../auth/access/visit.ts'
import { continuing } from '../../pages/after-form.ts'
import { withReturn } from '../../pages/continuation.ts'
import { formOf, formPage, fresh } from '../../pages/form-page.ts'
import { isOwnFrontEnd, startPage } from '../../pages/links.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import { notFound, validationFailed } from '../../platform/errors.ts'
import { typedText, uncheckedText } from '../../platform/http/fields.ts'
import { isEmail } from '../../platform/http/formats.ts'
import { Type } from '../../platform/json-schema.ts'
import { requestReset } from './request.ts'
import { checkLink, resetPassword } from './reset.ts'

const forgotPath = '/oauth/forgot-password'
const loginPath = '/oauth/login'

const TokenParams = Type.Object({
  token: Type.String({ maxLength: 255, description: 'The token of the mailed link.' }),
})

const guest = { family: 'session', caller: 'guest' } as const

/** Password reset pages, for installations without a front end. */
const resetPages: FastifyPluginAsync = async (app) => {
  await addPages(app)

  formPage(app, {
    path: forgotPath,
    operation: 'ForgotPassword',
    config: { access: guest },
    show: {
      query: Type.Object({ email: uncheckedText('Prefills the email address.') }),
      summary: 'request a password reset',
      description: 'The sign-in page links here. The form needs no JavaScript.',
      page: (request, reply) => forgotPage(reply, { email: typedText(request.query.email) }),
    },
    submit: {
      config: { limit: 'mail' },
      summary: 'mail a link that resets the password',
      description:
        'Shows the same page for every valid address, unless `passwords.reveal_unknown_email` is set. `rate_limits.mail` limits the requests.',
      response: { 200: pageAnswers.page },
      form: formOf('ForgotPasswordForm', { email: 'The email address.' }),
      async send(request, reply) {
        const email = typedText(request.body.email)
        if (!isEmail(email)) throw validationFailed({ email: ['The email field must be a valid email address.'] })
        await requestReset(visitOf(request), email)
        return forgotPage(reply, { email, isSent: true })
      },
      again: (request, reply, state) => forgotPage(reply, { email: typedText(request.body.email) }, state),
    },
  })

  const resetPath = '/reset-password/:token'
  const onlyHere = '404 unless `app.frontend_url` equals `app.url`.'
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.url === resetPath && !isOwnFrontEnd(app.config.current())) throw notFound()
  })

  formPage(app, {
    path: resetPath,
    operation: 'ResetPassword',
    config: { access: guest },
    params: TokenParams,
    show: {
      query: Type.Object({ email: uncheckedText('Prefills the email address.') }),
      summary: 'choose a new password',
      description: onlyHere,
      response: { 200: pageAnswers.page, 403: pageAnswers.refused },
      async page(request, reply) {
        const { token } = request.params
        const email = typedText(request.query.email)
        // Without the address, only the form can tell.
        const isUseless = isEmail(email) && !(await checkLink(visitOf(request), { email, token })).isValid
        return isUseless ? uselessPage(reply, email) : resetPage(reply, { token, email })
      },
    },
    submit: {
      summary: 'reset the password',
      description: onlyHere,
      response: { 200: continuing },
      next: 'To the sign-in page.',
      form: formOf('ResetPasswordForm', {
        email: 'The email address.',
        password: 'The new password.',
      }),
      async send(request) {
        const { email } = request.body
        const password = typedText(request.body.password)
        const { token } = request.params
        // The page has one field, as the other pages with a new password.
        const typed = { email: typedText(email), password, password_confirmation: password }
        await resetPassword(visitOf(request), { token, ...typed })
        return `${loginPath}?reset=1`
      },
      again(request, reply, state) {
        const email = typedText(request.body.email)
        if (state.errors.email) return uselessPage(reply, email, state.status)
        return resetPage(reply, { token: request.params.token, email }, state)
      },
    },
  })

  function forgotPage(
    reply: FastifyReply,
    { email, isSent = false }: { email: string; isSent?: boolean },
    { errors, status } = fresh,
  ) {
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
    { token, email }: { token: string; email: string },
    { errors, status } = fresh,
  ) {
    const minLength = app.config.current().passwords.min_length
    const action = `/reset-password/${encodeURIComponent(token)}`
    return reply.page('reset-password', { action, token, email, errors, minLength }, status)
  }
}

export default resetPages
