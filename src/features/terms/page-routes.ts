import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { acceptedVersion, mustAcceptTerms } from '../../auth/access/accepted-terms.ts'
import { requireUser } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { accountHref } from '../../pages/account/account-pages.ts'
import { continuing } from '../../pages/after-form.ts'
import { redirectOn, returnField, showDestination } from '../../pages/continuation.ts'
import { type FormState, formOf, formPage, fresh } from '../../pages/form-page.ts'
import { signInPage, termsPage } from '../../pages/links.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { returnTarget } from '../../platform/http/return-to.ts'
import { Type } from '../../platform/json-schema.ts'
import { accept } from './accept.ts'

const FormBody = formOf('TermsForm', { return_to: returnField, version: 'The version that the user accepts.' })

/** Page where a signed-in user accepts the terms. */
const termsPages: FastifyPluginAsync = async (app) => {
  await addPages(app)

  /** Shows the terms; redirects on if there is nothing to accept. */
  async function show(request: FastifyRequest, reply: FastifyReply, target: string | null, state: FormState) {
    const config = app.config.current()
    const { version, url } = config.terms
    if (!request.caller?.user) return reply.redirect(signInPage(config, request.url), 303)
    if (version === null || url === null || !mustAcceptTerms(config, request.caller.user))
      return redirectOn(reply, target)
    await showDestination(reply, target)
    const { errors, status } = state
    const data = { action: termsPage, returnTo: target, version, url, errors }
    return reply.page('terms', { ...data, accountHref: accountHref(app.features, config) }, status)
  }

  formPage(app, {
    path: termsPage,
    operation: 'Terms',
    config: { access: { family: 'session', caller: 'guest' } },
    show: {
      query: Type.Object({ return_to: uncheckedText(returnField) }),
      summary: 'accept the terms of service',
      description: 'For users who have not accepted the current version in `terms`.',
      response: {
        200: pageAnswers.page,
        303: Type.Null({ description: 'To the sign-in page, or to `return_to` if there is nothing to accept.' }),
      },
      page: (request, reply) =>
        show(request, reply, returnTarget(app.config.current(), request.query.return_to), fresh),
    },
    submit: {
      config: { access: { family: 'session', caller: 'required' }, unverified: 'allowed' },
      summary: 'accept the terms of service',
      description: 'Like `POST /user/terms`.',
      response: { 200: continuing },
      next: 'To `return_to` or the start page.',
      form: FormBody,
      async send(request, reply) {
        const config = app.config.current()
        const version = acceptedVersion(config, request.body.version, 'version')
        await accept(visitOf(request), requireUser(request).id, version)
        const target = returnTarget(config, request.body.return_to)
        await showDestination(reply, target)
        return redirectOn(reply, target)
      },
      again: (request, reply, state) =>
        show(request, reply, returnTarget(app.config.current(), request.body.return_to), state),
    },
  })
}

export default termsPages
