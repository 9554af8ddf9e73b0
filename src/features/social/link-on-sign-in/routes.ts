import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { mustAcceptTerms } from '../../../auth/access/accepted-terms.ts'
import { useOnce } from '../../../auth/access/used-once.ts'
import { mustVerifyAddress } from '../../../auth/access/verified-address.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import type { User } from '../../../identity/user.ts'
import { continuing } from '../../../pages/after-form.ts'
import { redirectOn, showDestination, withReturn } from '../../../pages/continuation.ts'
import { formOf, formPage } from '../../../pages/form-page.ts'
import { confirmPage, linkPage, startPage } from '../../../pages/links.ts'
import { addPages, pageAnswers } from '../../../pages/pages.ts'
import { sha256Base64url } from '../../../platform/crypto/hash.ts'
import { deriveCipher } from '../../../platform/crypto/keys.ts'
import { uncheckedText } from '../../../platform/http/fields.ts'
import { returnTarget } from '../../../platform/http/return-to.ts'
import { textsOf } from '../../../platform/http/texts.ts'
import { Type } from '../../../platform/json-schema.ts'
import { openAccount } from '../account.ts'
import { brandingOf } from '../buttons.ts'
import { ownSignIn } from '../destination.ts'
import { reportFailure } from '../log-failure.ts'
import { findProvider, type SocialProvider } from '../providers/provider.ts'
import { openPending, type PendingLink, pendingCookie, pendingTtl } from './pending.ts'

const returnTo = 'Where to continue: a path of svc, or the URL of a service.'

const config = { access: { family: 'session', caller: 'guest' } } as const

/** What a browser proved: an identity at a provider, and afterwards the account of its user. */
interface Proof {
  pending: PendingLink
  provider: SocialProvider
}

/** Identifies the identity and the account that a page shows. */
const offerOf = ({ id }: PendingLink, user: User): string => sha256Base64url(`${id} ${user.id}`)

/** Offers to link the identity of a refused sign-in to the account that its owner signs in to next. */
const linkOnSignIn: FastifyPluginAsync = async (app) => {
  await addPages(app)
  const cipher = deriveCipher(app.config.current().app.secret, 'social-pending-link')

  /** Returns the pending link of this browser, if its provider still allows links. */
  function proofOf({ cookies, cookiePrefixes }: FastifyRequest): Proof | null {
    const prefix = cookiePrefixes?.get(pendingCookie) ?? ''
    const pending = openPending(cipher, { cookie: cookies?.[pendingCookie], prefix, now: app.clock.now() })
    const provider = pending && findProvider(app.config.current(), pending.identity.provider)
    return pending && provider?.config.link ? { pending, provider } : null
  }

  /** Deletes the pending link and continues. */
  function leave(request: FastifyRequest, reply: FastifyReply, returnTo: string | null): FastifyReply {
    app.cookies.clear(request, reply, pendingCookie)
    return redirectOn(reply, returnTo)
  }

  /**
   * Returns the user if the browser signed in or confirmed after it proved the identity; otherwise the page on which to do
   * so.
   */
  function userAfter(request: FastifyRequest, { provedAt }: PendingLink, page: string): User | string {
    const user = request.caller?.kind === 'session' ? request.caller.user : null
    if (!user) return ownSignIn(page)
    const { proof, passwordConfirmedAt } = request.session
    return Math.max(proof?.at ?? 0, passwordConfirmedAt ?? 0) >= provedAt ? user : withReturn(confirmPage, page)
  }

  const mayLink = (user: User): boolean =>
    !mustVerifyAddress(app.config.current(), user) && !mustAcceptTerms(app.config.current(), user)

  formPage(app, {
    path: linkPage,
    operation: 'PendingLink',
    config,
    show: {
      query: Type.Object({ return_to: uncheckedText(returnTo) }),
      summary: 'link the account of a provider after a sign-in',
      description:
        'Where a sign-in by provider finds no account that it may use, the sign-in page returns here. Asks whether to link the account at the provider. Only the browser that signed in at the provider can, within ten minutes and once.',
      response: {
        200: pageAnswers.page,
        303: Type.Null({ description: 'To the sign-in or confirmation page, or on to `return_to`.' }),
      },
      async page(request, reply) {
        const returnTo = returnTarget(app.config.current(), request.query.return_to)
        const proof = proofOf(request)
        if (!proof) return leave(request, reply, returnTo)
        const user = userAfter(request, proof.pending, withReturn(linkPage, returnTo))
        if (typeof user === 'string') return reply.redirect(user, 303)
        if (!mayLink(user)) return leave(request, reply, returnTo)
        await showDestination(reply, returnTo)
        const { label } = proof.provider
        const { email, name } = proof.pending.identity
        return reply.page('link-provider', {
          title: textsOf(request)('account-providers.link', { provider: label }),
          action: linkPage,
          returnTo,
          offer: offerOf(proof.pending, user),
          provider: brandingOf(proof.provider),
          identity: email?.address ?? name,
          user: { name: user.name, email: user.email },
        })
      },
    },
    submit: {
      config: { alsoAnswers: [409] },
      summary: 'link the account of a provider after a sign-in',
      description: 'Links the account and mails a notice, if `decision` is `link`. Continues at `return_to`.',
      response: { 200: continuing },
      next: 'On to `return_to`, or to the page that asks for a proof or shows what changed.',
      form: formOf('PendingLinkForm', {
        decision: '`link` links the account at the provider.',
        offer: 'What the page showed.',
        return_to: returnTo,
      }),
      async send(request, reply) {
        const { decision, offer, return_to } = request.body
        const returnTo = returnTarget(app.config.current(), return_to)
        const proof = proofOf(request)
        if (!proof || decision !== 'link') return leave(request, reply, returnTo)
        const { pending, provider } = proof
        const user = userAfter(request, pending, withReturn(linkPage, returnTo))
        if (typeof user === 'string') return reply.redirect(user, 303)
        // In another tab, the browser may have signed in as another user or at the provider since.
        if (offer !== offerOf(pending, user)) return reply.redirect(withReturn(linkPage, returnTo), 303)
        const isUnused = await useOnce(app.database, 'SocialPendingLink', pending.id, pending.provedAt + pendingTtl)
        if (!isUnused || !mayLink(user)) return leave(request, reply, returnTo)
        const asker = { intent: 'link', userId: user.id } as const
        try {
          await openAccount(visitOf(request), {
            provider,
            identity: pending.identity,
            asker,
          })
        } catch (error) {
          const failure = await reportFailure(visitOf(request), provider, error, { isRecorded: true })
          app.cookies.clear(request, reply, pendingCookie)
          const text = textsOf(request)
          const data = {
            title: text('account-providers.link', { provider: provider.label }),
            message: text('account-providers.taken'),
            link: { href: returnTo ?? startPage(app.config.current()), label: text('link-provider.continue') },
          }
          return reply.page('message', data, failure.statusCode)
        }
        return leave(request, reply, returnTo)
      },
    },
  })
}

export default linkOnSignIn
