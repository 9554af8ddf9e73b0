import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { visitOf } from '../../auth/access/visit.ts'
import { continuing } from '../../pages/after-form.ts'
import { formPage } from '../../pages/form-page.ts'
import { resendPage, signInPage, startPage } from '../../pages/links.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'
import { resendVerification, unverifiedAddress } from './resend.ts'

const path = resendPage
const access = { family: 'session', caller: 'guest' } as const

/** Page that sends the verification mail again. */
const verificationPages: FastifyPluginAsync = async (app) => {
  await addPages(app)

  /** The next page of a visitor without an unverified address. */
  function elsewhere({ caller }: FastifyRequest): string {
    const config = app.config.current()
    return caller?.user ? startPage(config) : signInPage(config, path)
  }

  formPage(app, {
    path,
    operation: 'VerifyEmail',
    config: { access, unverified: 'allowed' },
    show: {
      query: Type.Object({ sent: uncheckedText('`1`: shows that the mail was sent.') }),
      summary: 'verify your email address',
      description: 'Shows the unverified address, and a button that sends the mail again.',
      response: {
        200: pageAnswers.page,
        303: Type.Null({ description: 'To the sign-in page, or the start page if the address is verified.' }),
      },
      page(request, reply) {
        const address = request.caller?.user ? unverifiedAddress(request.caller.user) : null
        if (address === null) return reply.redirect(elsewhere(request), 303)
        const homeHref = startPage(app.config.current())
        return reply.page('verify-email', { action: path, email: address, sent: request.query.sent === '1', homeHref })
      },
    },
    submit: {
      config: { limit: 'mail' },
      summary: 'send the verification mail again',
      description: 'Like `POST /email/verification-notification`.',
      response: { 200: continuing },
      next: 'Back to the page, the start page or the sign-in page.',
      async send(request) {
        const user = request.caller?.user
        return user && (await resendVerification(visitOf(request), user)) ? `${path}?sent=1` : elsewhere(request)
      },
    },
  })
}

export default verificationPages
