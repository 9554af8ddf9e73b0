import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { continuing } from '../../pages/after-form.ts'
import { resendPage, signInPage, startPage } from '../../pages/links.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'
import { resendVerification, unverifiedAddress } from './resend.ts'

const path = resendPage
const access = { family: 'session', caller: 'guest' } as const

/** Page that sends the verification mail again. */
const verificationPages: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)

  /** The next page of a visitor without an unverified address. */
  function elsewhere({ caller }: FastifyRequest): string {
    const config = app.config.current()
    return caller?.user ? startPage(config) : signInPage(config, path)
  }

  app.get(
    path,
    {
      config: { access, unverified: 'allowed' },
      schema: {
        operationId: 'showVerifyEmail',
        tags: ['Pages'],
        summary: 'Page: verify your email address',
        description: 'Shows the unverified address, and a button that sends the mail again.',
        querystring: Type.Object({ sent: uncheckedText('`1`: shows that the mail was sent.') }),
        response: {
          200: pageAnswers.page,
          303: Type.Null({ description: 'To the sign-in page, or the start page if the address is verified.' }),
        },
      },
    },
    async (request, reply) => {
      const address = request.caller?.user ? unverifiedAddress(request.caller.user) : null
      if (address === null) return reply.redirect(elsewhere(request), 303)
      const homeHref = startPage(app.config.current())
      return reply.page('verify-email', { action: path, email: address, sent: request.query.sent === '1', homeHref })
    },
  )

  app.post(
    path,
    {
      config: { access, unverified: 'allowed', limit: 'mail' },
      schema: {
        operationId: 'submitVerifyEmail',
        tags: ['Pages'],
        summary: 'Form: send the verification mail again',
        description: 'Like `POST /email/verification-notification`.',
        response: {
          200: continuing,
          303: Type.Null({ description: 'Back to the page, the start page or the sign-in page.' }),
        },
      },
    },
    async (request, reply) => {
      const user = request.caller?.user
      if (!user || !(await resendVerification(request, user))) return reply.redirect(elsewhere(request), 303)
      return reply.redirect(`${path}?sent=1`, 303)
    },
  )
}

export default verificationPages
