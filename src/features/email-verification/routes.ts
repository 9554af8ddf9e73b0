import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../auth/access/caller.ts'
import { eventContext, visitOf } from '../../auth/access/visit.ts'
import { rememberBrowser } from '../../auth/sign-in/known-browser.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { undoLink } from '../../identity/email-change.ts'
import { notify } from '../../identity/notices.ts'
import type { User } from '../../identity/user.ts'
import { findUserById } from '../../identity/users.ts'
import { addressOf, isSigned } from '../../identity/verification.ts'
import { linkTo, resendPage, signInPage, startPage } from '../../pages/links.ts'
import { addPages } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import { HttpError, unauthenticated, validationFailed } from '../../platform/errors.ts'
import { isNavigation } from '../../platform/http/navigation.ts'
import { localPath } from '../../platform/http/return-to.ts'
import { Type } from '../../platform/json-schema.ts'
import { resendVerification, unverifiedAddress } from './resend.ts'
import { applyAddress, verifyAddress } from './store.ts'

const VerificationEmailSent = Type.Object(
  {
    status: Type.String({ description: '`verification-link-sent`.' }),
    message: Type.String({ description: 'A message for people. Its wording may change.' }),
  },
  { title: 'VerificationEmailSent', description: 'svc sends the link by mail.' },
)

/** Rejects an invalid link with 403: a page for browsers, Laravel's message for other clients. */
function refuseLink(request: FastifyRequest, reply: FastifyReply, why: 'invalid' | 'not_yours'): FastifyReply {
  if (!isNavigation(request)) {
    const message = why === 'invalid' ? 'Invalid signature.' : 'This action is unauthorized.'
    throw new HttpError(403, 'forbidden', message)
  }
  const config = request.server.config.current()
  const text = textsOf(reply.request)
  const words = { heading: text(`verify.${why}`), texts: [text(`verify.${why}_text`)] }
  const user = request.caller?.user
  const link =
    user && unverifiedAddress(user) !== null ? { href: resendPage, label: text('verify-email.submit') } : null
  return reply.page('error', { ...words, link, homeHref: startPage(config) }, 403)
}

/** Without a session, the user signs in first and returns; the link alone verifies nothing. */
async function askForSession(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (request.caller) return
  if (!isNavigation(request)) throw unauthenticated()
  // A request line may contain an absolute URL (RFC 9112 section 3.2.2), which is not a local path.
  await reply.redirect(signInPage(request.server.config.current(), localPath(request.url) ?? '/'), 302)
}

/** Email verification by signed link, in both URL formats of Laravel clients. */
const emailVerification: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)

  for (const path of ['/email/verify/:id/:hash', '/verify-email/:id/:hash']) {
    app.get(
      path,
      {
        config: { access: { family: 'session', caller: 'guest' }, limit: 'link', alsoAnswers: [401, 403, 422] },
        onRequest: askForSession,
        schema: {
          operationId: path.startsWith('/email/') ? 'verifyEmail' : 'verifyEmailAtOldPath',
          tags: ['Account'],
          summary: 'Verify an email address',
          description:
            'Requires a session of the user that the link belongs to; redirects other browsers to sign in. A pending address becomes the address of the account, or 422 if another account uses it.',
          params: Type.Object({ id: Type.String({ maxLength: 20 }), hash: Type.String({ maxLength: 128 }) }),
          querystring: Type.Object({
            expires: Type.Optional(Type.String({ description: 'Unix seconds.' })),
            signature: Type.Optional(Type.String()),
          }),
          response: {
            204: Type.Null({ description: 'Verified now or already.' }),
            302: Type.Null({ description: 'For browsers: to `links.after_verify` or the sign-in page.' }),
          },
        },
      },
      async (request, reply) => {
        const { expires = '', signature = '' } = request.query
        const link = { ...request.params, expires, signature }
        if (!isSigned(app, link)) return refuseLink(request, reply, 'invalid')
        const user = request.caller?.user
        const address = user ? addressOf(link, user) : null
        if (!user || !address) return refuseLink(request, reply, 'not_yours')
        if (address === 'current') await verifyAddress(app.database, user, eventContext(request))
        else if (!(await applyPending(request, user))) return refuseLink(request, reply, 'not_yours')
        const verified = await findUserById(app.database, user.id)
        if (verified) rememberBrowser(request, reply, verified)
        if (isNavigation(request)) return reply.redirect(linkTo(app.config.current(), 'after_verify'), 302)
        return reply.code(204).send(null)
      },
    )
  }

  app.post(
    '/email/verification-notification',
    {
      config: {
        access: { family: 'session', caller: 'required' },
        unverified: 'allowed',
        limit: 'mail',
      },
      schema: {
        operationId: 'sendVerificationEmail',
        tags: ['Account'],
        summary: 'Send the verification mail again',
        description:
          'Goes to the pending new address, if there is one. The link works for an hour. `rate_limits.mail` limits the requests.',
        response: {
          202: VerificationEmailSent,
          204: Type.Null({ description: 'The address is already verified, and none is pending.' }),
        },
      },
    },
    async (request, reply) => {
      const { user } = callerOf(request)
      if (!user) throw unauthenticated()
      if (!(await resendVerification(visitOf(request), user))) return reply.code(204).send(null)
      const message = 'A new verification link has been sent to your email address.'
      return reply.code(202).send({ status: 'verification-link-sent', message })
    },
  )

  /** Applies the pending address; false if it was replaced meanwhile. Throws 422 if another account uses it. */
  async function applyPending(request: FastifyRequest, user: User): Promise<boolean> {
    const origin = eventContext(request)
    const outcome = await applyAddress(app.database, user, origin, {
      lock: (tx) => requireStillSignedIn(tx, visitOf(request)),
      notifyOld: async (tx, changeId, newEmail) => {
        const undo = undoLink(app, { id: changeId, oldEmail: user.email })
        await notify(app, tx, origin, user, 'email_changed', { newEmail, undo })
      },
    })
    if (outcome === 'taken') throw validationFailed({ email: ['The email has already been taken.'] })
    return outcome !== 'overtaken'
  }
}

export default emailVerification
