import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { mustAcceptTerms } from '../../../auth/access/accepted-terms.ts'
import { mustVerifyAddress } from '../../../auth/access/verified-address.ts'
import { eventContext, visitOf } from '../../../auth/access/visit.ts'
import { continuing } from '../../../pages/after-form.ts'
import { keepAskedLanguage } from '../../../pages/chosen-language.ts'
import { showApplication, withReturn } from '../../../pages/continuation.ts'
import { registrationPage, signInPage, termsPage } from '../../../pages/links.ts'
import { allowApp } from '../../../pages/page-headers.ts'
import { addPages, pageAnswers } from '../../../pages/pages.ts'
import { textsOf } from '../../../pages/texts.ts'
import { HttpError } from '../../../platform/errors.ts'
import { formType } from '../../../platform/http/bodies.ts'
import { typedText, uncheckedText } from '../../../platform/http/fields.ts'
import { languageOf } from '../../../platform/http/language.ts'
import { isNavigation } from '../../../platform/http/navigation.ts'
import { Type } from '../../../platform/json-schema.ts'
import type { Factors } from '../authentication-context.ts'
import { namedTargets } from '../clients/targets.ts'
import { type SignedIn, signedInOf } from '../protocol/browser.ts'
import { grantScopes, newGrant } from '../protocol/grants.ts'
import type { InteractionDetails as Details, Protocol } from '../protocol/oauth-server.ts'
import { saveConsent } from '../records/interaction-store.ts'
import { consentScopes, scopesOf } from './consent-scopes.ts'
import { finishedPage } from './finished-page.ts'
import { hostOf, isLoopback } from './redirect-host.ts'
import { missingStepUp, proveCode, type Refused, unmet } from './step-up.ts'

const path = '/oauth/interaction/:uid'
const guest = { family: 'session', caller: 'guest' } as const
const params = Type.Object({
  uid: Type.String({ pattern: '^[\\w-]{1,64}$', description: 'The id of the authorization.' }),
})

const AnswerBody = Type.Object(
  {
    decision: uncheckedText('`approve`, `deny`, or `continue` with the account that is signed in.'),
    code: uncheckedText('A TOTP code, for a required second factor.'),
    recovery_code: uncheckedText('A recovery code, instead of `code`.'),
  },
  { title: 'ConsentForm', additionalProperties: false },
)

/** Pages where an authorization needs the user: sign-in, second factor and consent. */
const interactions: FastifyPluginAsyncTypebox = async (app) => {
  const oauthServer = app.oauth
  await addPages(app)

  app.get(
    path,
    {
      config: { access: guest, alsoAnswers: [403, 404] },
      schema: {
        operationId: 'showConsent',
        tags: ['Pages'],
        summary: 'Page: consent or second factor of an authorization',
        description:
          'The authorization redirects here. The page asks for what is missing: consent, a code or a passkey. An authorization expires after an hour.',
        params,
        response: {
          200: pageAnswers.page,
          302: Type.Null({ description: 'To the sign-in page, which returns here.' }),
          303: Type.Null({ description: 'Back to the authorization.' }),
        },
      },
    },
    async (request, reply) => {
      const { provider } = await oauthServer.current()
      const details = await detailsOf(provider, request, reply)
      if (!details) return expired(request, reply, request.params.uid)
      keepAskedLanguage(request, reply, details.params.ui_locales)
      const signedIn = signedInOf(request)
      if (details.prompt.name === 'create') return create(provider, details, request, reply)
      if (details.prompt.name === 'select_account') return selectAccount(provider, details, request, reply)
      // The user may have changed since consent was requested, or signed in again.
      const isOther = signedIn !== null && details.session?.accountId !== String(signedIn.user.id)
      if (details.prompt.name === 'login' || isOther) return login(provider, details, request, reply)
      return consentPage(provider, details, request, reply)
    },
  )

  app.post(
    path,
    {
      config: { access: guest, alsoAnswers: [401, 403] },
      schema: {
        operationId: 'submitConsent',
        tags: ['Pages'],
        summary: 'Form: approve or deny a client, or enter a second factor',
        description:
          'Requires the session that the page belongs to. Send `decision`, or the code of a second factor. The authorization then continues and redirects to the client.',
        params,
        consumes: [formType],
        body: AnswerBody,
        response: { 200: continuing },
      },
    },
    async (request, reply) => {
      const { provider, registry } = await oauthServer.current()
      const details = await detailsOf(provider, request, reply)
      if (!details) return expired(request, reply, request.params.uid)
      const signedIn = signedInOf(request)
      const { code, recovery_code, decision } = request.body
      if (code !== undefined || recovery_code !== undefined) {
        const proof = { code: typedText(code), recovery_code: typedText(recovery_code) }
        const refused = await proveCode(oauthServer, details, signedIn, visitOf(request), proof)
        if (!refused) return reply.redirect(`/oauth/interaction/${details.uid}`, 303)
        return stepUpPage(reply.headers(refused.headers), details, refused.factors, refused)
      }
      const clientId = String(details.params.client_id)
      if (decision === 'deny') {
        const refusal = { error: 'access_denied', error_description: 'The user denied the request.' }
        return reply.redirect(await provider.interactionResult(request.raw, reply.raw, refusal), 303)
      }
      const { name: asked } = details.prompt
      if (asked === 'select_account' && isTheirs(details, signedIn) && decision === 'continue') {
        const options = { mergeWithLastSubmission: true }
        const result = { select_account: {} }
        return reply.redirect(await provider.interactionResult(request.raw, reply.raw, result, options), 303)
      }
      const mayAnswer = isTheirs(details, signedIn) && !mustAcceptTerms(app.config.current(), signedIn.user)
      if (asked !== 'consent' || !mayAnswer || decision !== 'approve')
        return reply.redirect(`/oauth/interaction/${details.uid}`, 303)
      if (registry.isDocument(clientId)) await requireUnblocked(provider, clientId)
      const scopes = scopesOf(details)
      const known = details.grantId ? await provider.Grant.find(details.grantId) : undefined
      const facts = { accountId: String(signedIn.user.id), clientId, sessionId: signedIn.sessionId }
      const endsWithSession = details.params.redirect_uri !== undefined && !scopes.includes('offline_access')
      const grant = known ?? newGrant(provider, { ...facts, sessionUid: details.session?.uid, endsWithSession })
      grantScopes(grant, scopes, namedTargets(registry.targets(clientId), details.params.resource))
      const claims = details.prompt.details.missingOIDCClaims
      if (Array.isArray(claims)) grant.addOIDCClaims(claims)
      const grantId = await grant.save()
      const { user, rowId: session } = signedIn
      const client = { clientId, name: registry.application(clientId).name }
      await saveConsent(app, { user, session, client, scopes, origin: eventContext(request) })
      const result = { consent: { grantId } }
      request.session.answeredAuthorization = { uid: details.uid, clientId }
      await request.session.save()
      return reply.redirect(
        await provider.interactionResult(request.raw, reply.raw, result, { mergeWithLastSubmission: true }),
        303,
      )
    },
  )

  /** Continues once the user is signed in, with a new account or an existing one. */
  async function create(
    provider: Protocol['provider'],
    { uid, params }: Details,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    const page = registrationPage(app.config.current(), `/oauth/interaction/${uid}`)
    if (signedInOf(request) || page === null) {
      return reply.redirect(await provider.interactionResult(request.raw, reply.raw, { create: {} }), 303)
    }
    return reply.redirect(withHint(new URL(page), params).href, 302)
  }

  /** Continues after a new sign-in. Otherwise asks whether to use the account that is signed in. */
  async function selectAccount(
    provider: Protocol['provider'],
    details: Details,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    const signedIn = signedInOf(request)
    if (!isTheirs(details, signedIn) || isNewSignIn(details, signedIn)) return login(provider, details, request, reply)
    const action = `/oauth/interaction/${details.uid}`
    const { client_id, redirect_uri } = details.params
    const { registry } = await oauthServer.current()
    const application = registry.application(String(client_id))
    showApplication(reply, { ...application, cancelAction: typeof redirect_uri === 'string' ? action : null })
    if (typeof redirect_uri === 'string') allowApp(reply, redirect_uri)
    const { name, email } = signedIn.user
    return reply.page('select-account', {
      action,
      client: application.name,
      user: { name, email },
      switchHref: switchPage(action),
    })
  }

  /** Continues if the sign-in is recent and strong enough; otherwise the user signs in and returns. */
  async function login(provider: Protocol['provider'], details: Details, request: FastifyRequest, reply: FastifyReply) {
    const signedIn = signedInOf(request)
    const isLateEnough = signedIn && (!requiresNewSignIn(details, signedIn.user.id) || isNewSignIn(details, signedIn))
    const step = isLateEnough ? await missingStepUp(oauthServer, details, signedIn) : 'sign_in'
    if (step !== null && typeof step !== 'string') return stepUpPage(reply, details, step)
    if (signedIn && step !== 'sign_in') {
      const login = { accountId: String(signedIn.user.id), ts: signedIn.since, remember: true }
      // Discards earlier decisions, which may be those of another user.
      const options = { mergeWithLastSubmission: false }
      const created = details.lastSubmission?.create ? { create: {} } : {}
      const isSelected = details.prompt.name === 'select_account' || details.lastSubmission?.select_account
      const selected = isSelected ? { select_account: {} } : {}
      const result = step === 'unmet' ? unmet : { ...created, ...selected, login }
      return reply.redirect(await provider.interactionResult(request.raw, reply.raw, result, options), 303)
    }
    const url = new URL(signInPage(app.config.current(), `/oauth/interaction/${details.uid}`))
    if (signedIn) url.searchParams.set('prompt', 'login')
    return reply.redirect(withHint(url, details.params).href, 302)
  }

  function stepUpPage(
    reply: FastifyReply,
    { uid, params }: Details,
    { code, phishingResistant }: Factors,
    { errors, status }: Pick<Refused, 'errors' | 'status'> = { errors: {}, status: 200 },
  ) {
    const action = `/oauth/interaction/${uid}`
    if (typeof params.redirect_uri === 'string') allowApp(reply, params.redirect_uri)
    const lead = code ? 'challenge.lead' : (phishingResistant[0]?.lead ?? 'challenge.lead')
    const parts = phishingResistant.map(({ part }) => part)
    return reply.page('step-up', { action, lead, code, parts, errors, switchHref: switchPage(action) }, status)
  }

  /** Page to sign in with another account and return. */
  function switchPage(returnTo: string): string {
    const url = new URL(signInPage(app.config.current(), returnTo))
    url.searchParams.set('prompt', 'login')
    return url.href
  }

  /** Shows the page of a finished authorization, for example after the browser's back button, with a link to the application. */
  async function expired(request: FastifyRequest, reply: FastifyReply, uid: string) {
    if (!isNavigation(request)) {
      throw new HttpError(404, 'not_found', 'This request is unknown or has expired. Please start again.')
    }
    const { registry } = await oauthServer.current()
    const answered = request.session?.answeredAuthorization
    const client = answered?.uid === uid ? registry.client(answered.clientId) : undefined
    return reply.page('error', finishedPage(app.config.current(), textsOf(request), client), 404)
  }

  async function consentPage(
    provider: Protocol['provider'],
    details: Details,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    const signedIn = signedInOf(request)
    const returnTo = `/oauth/interaction/${details.uid}`
    const config = app.config.current()
    if (!signedIn || details.session?.accountId !== String(signedIn.user.id)) {
      return reply.redirect(signInPage(config, returnTo), 302)
    }
    if (mustVerifyAddress(config, signedIn.user)) {
      throw new HttpError(403, 'email_unverified', 'Your email address is not verified.')
    }
    if (mustAcceptTerms(config, signedIn.user)) return reply.redirect(withReturn(termsPage, returnTo), 302)
    // Nothing else was missing, and the user has accepted them since.
    if (details.prompt.reasons.every((reason) => reason === 'terms')) {
      const options = { mergeWithLastSubmission: true }
      return reply.redirect(await provider.interactionResult(request.raw, reply.raw, {}, options), 303)
    }
    const { client_id, redirect_uri } = details.params
    const { registry } = await oauthServer.current()
    const clientId = String(client_id)
    const application = registry.application(clientId)
    showApplication(reply, application)
    if (typeof redirect_uri === 'string') allowApp(reply, redirect_uri)
    const isUnregistered = registry.isDocument(clientId)
    const unregistered = isUnregistered ? await requireUnblocked(provider, clientId) : null
    return reply.page('consent', {
      action: returnTo,
      client: application.name,
      claim: unregistered?.clientName ?? null,
      isUnregistered,
      // Nobody knows which program listens on a port, so its number means nothing.
      host: isUnregistered && isLoopback(redirect_uri) ? null : hostOf(redirect_uri),
      isForDevice: redirect_uri === undefined,
      user: { name: signedIn.user.name, email: signedIn.user.email },
      scopes: consentScopes(details, config, registry, languageOf(request)),
      switchHref: switchPage(returnTo),
    })
  }
}

/** Returns a client that nobody registered. Throws 403 if its host was blocked after the authorization began. */
async function requireUnblocked(provider: Protocol['provider'], clientId: string) {
  const client = await provider.Client.find(clientId)
  if (!client) throw new HttpError(403, 'forbidden', 'This app is blocked.')
  return client
}

/** Adds the client's `login_hint` to the URL of the page. */
function withHint(page: URL, { login_hint }: Details['params']): URL {
  if (typeof login_hint === 'string' && login_hint.length <= 255) page.searchParams.set('login_hint', login_hint)
  return page
}

/** Returns the authorization, or null if it is finished, expired or of another browser. */
async function detailsOf(
  provider: Protocol['provider'],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Details | null> {
  try {
    return await provider.interactionDetails(request.raw, reply.raw)
  } catch (error) {
    // Other errors are internal.
    if (!(error instanceof Error) || error.name !== 'SessionNotFound') throw error
    return null
  }
}

/** Tests whether the request requires a new sign-in. */
function requiresNewSignIn({ prompt, session }: Details, userId: number): boolean {
  const now = ['login_prompt', 'max_age', 'id_token_hint', 'claims_id_token_sub_value']
  return (
    prompt.reasons.some((reason) => now.includes(reason)) && (session?.accountId ?? String(userId)) === String(userId)
  )
}

/** Tests whether the user who is signed in is the one of the authorization. */
const isTheirs = ({ session }: Details, signedIn: SignedIn | null): signedIn is SignedIn =>
  signedIn !== null && session?.accountId === String(signedIn.user.id)

/** Tests whether the user signed in after the interaction began: not before that second, and in another session. */
const isNewSignIn = ({ iat, beganIn }: Details, { since, sessionId }: SignedIn): boolean =>
  since >= iat && sessionId !== beganIn

export default interactions
