import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitOf } from '../../auth/access/visit.ts'
import { signOut } from '../../auth/sign-in/sign-in.ts'
import { accountHref } from '../../pages/account/account-pages.ts'
import { continuing } from '../../pages/after-form.ts'
import { isOwnFrontEnd, resendPage, signedOutPage, signInPage, signOutPath } from '../../pages/links.ts'
import type { PagePart } from '../../pages/page-part.ts'
import { addPages } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import { notFound } from '../../platform/errors.ts'
import { Type } from '../../platform/json-schema.ts'

const year = 365 * 24 * 60 * 60

/** Offers of features. Those with a cookie appear once per browser. */
async function offersFor(request: FastifyRequest, reply: FastifyReply): Promise<PagePart[]> {
  const { cookies, features } = request.server
  const parts: PagePart[] = []
  for (const { cookie, isFor, part } of features.flatMap(({ offers }) => offers ?? [])) {
    if ((cookie !== null && request.cookies[cookie] !== undefined) || !(await isFor(visitOf(request)))) continue
    if (cookie !== null) cookies.set(request, reply, cookie, '1', { maxAge: year })
    parts.push(part)
  }
  return parts
}

/** The page at `/` without a separate front end: shows the user and a sign-out button. */
const home: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)

  app.get(
    '/',
    {
      config: { access: { family: 'session', caller: 'guest' }, alsoAnswers: [404], impersonated: 'allowed' },
      schema: {
        operationId: 'showHome',
        tags: ['Pages'],
        summary: 'Page: your account',
        description: '404 unless `app.frontend_url` equals `app.url`.',
      },
    },
    async (request, reply) => {
      const config = app.config.current()
      if (!isOwnFrontEnd(config)) throw notFound()
      const user = request.caller?.user
      const query = new URLSearchParams(request.url.split('?')[1])
      const hasLeft = !user && query.get('signed_out') === '1'
      const parts = user ? await offersFor(request, reply) : []
      return reply.page('home', {
        user: user ? { name: user.name, email: user.email, verified: user.email_verified_at !== null } : null,
        justVerified: query.get('verified') === '1',
        justSignedOut: hasLeft,
        ...(hasLeft && { title: textsOf(request)('logged-out.heading') }),
        loginHref: signInPage(config, '/'),
        signOutAction: signOutPath,
        verifyHref: resendPage,
        accountHref: accountHref(app.features, config),
        parts,
      })
    },
  )

  app.post(
    signOutPath,
    {
      // Guests too, so that a double click is not an error.
      config: { access: { family: 'session', caller: 'guest' }, impersonated: 'allowed' },
      schema: {
        operationId: 'submitSignOut',
        tags: ['Pages'],
        summary: 'Form: end the session',
        description: 'Also ends the OAuth session and notifies its clients. Redirects guests too.',
        response: { 200: continuing, 303: Type.Null({ description: 'To `/` or the front end.' }) },
      },
    },
    async (request, reply) => {
      if (request.caller) await signOut(request, reply)
      return reply.redirect(signedOutPage(app.config.current()), 303)
    },
  )
}

export default home
