import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { eventContext, visitOf } from '../../auth/access/visit.ts'
import { continueSignIn } from '../../auth/sign-in/challenge.ts'
import { isRefusedSignIn } from '../../auth/sign-in/decisions.ts'
import { markConfirmed } from '../../auth/sign-in/recent-password.ts'
import { openTokenSignIns } from '../../auth/tokens/sign-in.ts'
import { recordEvents } from '../../identity/events.ts'
import { startPage } from '../../pages/links.ts'
import { sendErrorPage } from '../../pages/pages.ts'
import { deriveCipher } from '../../platform/crypto/keys.ts'
import { isServiceUnavailable, notFound } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { isNavigation } from '../../platform/http/navigation.ts'
import { Type } from '../../platform/json-schema.ts'
import type { Opened } from './account.ts'
import confirmPageRoutes from './confirm-page-routes.ts'
import confirmationRoutes from './confirmation/routes.ts'
import { arrival, challengePage, failurePage, withLink } from './destination.ts'
import { beginFlow, callbackPath, failureWithoutFlow, finishFlow } from './flow.ts'
import { type FlowRequest, flowRequestOf, requireFields } from './flow-request.ts'
import invitationRoutes from './invitation/routes.ts'
import { pendingCookie, pendingTtl, refusedIdentity, sealPending } from './link-on-sign-in/pending.ts'
import linkOnSignIn from './link-on-sign-in/routes.ts'
import linkRoutes from './links/routes.ts'
import { reportFailure } from './log-failure.ts'
import { socialMethod } from './method.ts'
import { firstFactor, redeemMobile } from './mobile.ts'
import { findProvider, listProviders, type SocialProvider } from './providers/provider.ts'
import {
  CallbackBody,
  CallbackQuery,
  ProviderList,
  ProviderParams,
  RedirectQuery,
  TokenAnswer,
  TokenBody,
  UrlAnswer,
} from './schemas.ts'
import { cookieAge, cookieName, type Flow, oldFlows, openFlow, parametersOf, sealFlow } from './state.ts'

/** The raw query of a request, without question mark. */
const queryOf = ({ url }: FastifyRequest): string => url.split('?').slice(1).join('?')

const guest = { access: { family: 'session', caller: 'guest' } } as const

/** Sign-in through identity providers, with svc as the client. */
const social: FastifyPluginAsyncTypebox = async (app) => {
  const { secret } = app.config.current().app
  const cipher = deriveCipher(secret, 'social-flow')
  const pendingCipher = deriveCipher(secret, 'social-pending-link')
  const signIns = openTokenSignIns(app)
  const parts = app.social

  function providerOf(id: string): SocialProvider {
    const provider = findProvider(app.config.current(), id)
    if (!provider) throw notFound()
    return provider
  }

  /** Starts a flow and sets its cookie. */
  async function begin(
    request: FastifyRequest,
    reply: FastifyReply,
    provider: SocialProvider,
    flowRequest: FlowRequest,
  ): Promise<string> {
    const { url, flow } = await beginFlow(app, parts, provider, flowRequest)
    for (const name of oldFlows(request.cookies)) app.cookies.clear(request, reply, name)
    const name = cookieName(parametersOf(flow).state)
    // The provider's redirect is cross-site, so the cookie must be lax.
    const attributes = { maxAge: cookieAge, sameSite: 'lax' } as const
    app.cookies.set(request, reply, name, sealFlow(cipher, flow, app.cookies.prefix(name)), attributes)
    return url
  }

  /** Returns this browser's flow and deletes its cookie; null if the browser did not start it. */
  function take(request: FastifyRequest, reply: FastifyReply, provider: SocialProvider): Flow | null {
    const states = new URLSearchParams(queryOf(request)).getAll('state')
    const [state = ''] = states
    const name = cookieName(state)
    const cookie = request.cookies?.[name]
    if (states.length !== 1 || cookie === undefined) return null
    const flow = openFlow(cipher, state, cookie, request.cookiePrefixes?.get(name) ?? '')
    if (flow?.provider !== provider.id) return null
    app.cookies.clear(request, reply, name)
    return flow
  }

  app.get(
    '/auth/providers',
    {
      config: { access: { family: 'none' } },
      schema: {
        operationId: 'listProviders',
        tags: ['Social login'],
        summary: 'List the identity providers',
        description: 'For the buttons of a sign-in page. Empty without configured providers.',
        response: { 200: ProviderList },
      },
    },
    async () => listProviders(app.config.current()).map(({ id, label }) => ({ id, label })),
  )

  app.get(
    '/auth/:provider/redirect',
    {
      config: { ...guest, navigation: 'redirect', alsoAnswers: [400, 404, 422] },
      schema: {
        operationId: 'redirectToProvider',
        tags: ['Social login'],
        summary: 'Start a provider sign-in',
        description: 'Redirects browsers; other clients receive the URL.',
        params: ProviderParams,
        querystring: RedirectQuery,
        response: { 200: UrlAnswer, 302: Type.Null({ description: 'To the provider.' }) },
      },
    },
    async (request, reply) => {
      const provider = providerOf(request.params.provider)
      const isPerson = isNavigation(request)
      const isOwn = request.headers['sec-fetch-site'] === 'same-origin' && !request.caller
      const flowRequest = { ...flowRequestOf(request.query, app.config.current()), isOwn }
      try {
        const url = await begin(request, reply, provider, flowRequest)
        return isPerson ? reply.redirect(url, 302) : { url }
      } catch (error) {
        const failure = await reportFailure(visitOf(request), provider, error, { isRecorded: false })
        if (!isPerson || flowRequest.mode === 'stateless') throw failure
        return reply.redirect(failurePage(app.config.current(), flowRequest, failure.code), 302)
      }
    },
  )

  app.get(
    '/auth/:provider/callback',
    {
      // Applications read the JSON of a sign-in without a session. Other errors redirect.
      config: { ...guest, navigation: 'redirect', errorPages: false, alsoAnswers: [400, 401, 403, 404, 409, 422] },
      schema: {
        operationId: 'handleProviderCallback',
        tags: ['Social login'],
        summary: 'Provider callback',
        description:
          'The provider redirects the browser here. Only the browser that started the flow can complete it: to sign in, link an account or confirm. With `stateless`, the response is an API token.',
        params: ProviderParams,
        querystring: CallbackQuery,
        response: {
          200: TokenAnswer,
          302: Type.Null({ description: 'To the front end, signed in or with `error`.' }),
        },
      },
    },
    async (request, reply) => {
      const provider = providerOf(request.params.provider)
      // A HEAD request must not use up the flow.
      const flow = request.method === 'HEAD' ? null : take(request, reply, provider)
      try {
        if (!flow) throw failureWithoutFlow(new URLSearchParams(queryOf(request)))
        const found = await finishFlow(visitOf(request), parts, provider, { flow, query: queryOf(request) })
        if (flow.mode === 'stateless')
          return await signIns.finish(visitOf(request), firstFactor(found), flow.deviceName ?? '')
        return reply.redirect(await complete(request, reply, flow, found), 302)
      } catch (error) {
        const isShown = isNavigation(request) && flow?.mode !== 'stateless'
        if (isShown && isServiceUnavailable(error))
          return reply.redirect(failurePage(app.config.current(), flow, error.code), 302)
        if (isShown && isRefusedSignIn(error)) {
          const target = failurePage(app.config.current(), flow, error.code)
          // Only pages of svc can show the reason.
          return target.startsWith('/') ? sendErrorPage(reply, error) : reply.redirect(target, 302)
        }
        const failure = await reportFailure(visitOf(request), provider, error, { isRecorded: flow !== null })
        if (!isShown) throw failure
        // Someone who is signed in and opens an old address, for example with the back button, needs no message.
        if (flow === null && failure.code === 'invalid_state' && request.caller)
          return reply.redirect(startPage(app.config.current()), 302)
        const canLink = flow !== null && offerLink(request, reply, { provider, flow, error })
        const place = canLink ? { ...flow, returnTo: withLink(app.config.current(), flow.returnTo) } : flow
        return reply.redirect(failurePage(app.config.current(), place, failure.code), 302)
      }
    },
  )

  /**
   * Keeps a refused identity in this browser, to link it after a sign-in. Only if a guest started the flow on a page of svc:
   * another site, or a link that returns there after a sign-in, could plant the attacker's account at the provider.
   */
  function offerLink(
    request: FastifyRequest,
    reply: FastifyReply,
    { provider, flow, error }: { provider: SocialProvider; flow: Flow; error: unknown },
  ): boolean {
    const identity = refusedIdentity(error)
    if (identity === null || !provider.config.link || flow.mode !== 'page' || !flow.isOwn) return false
    const sealed = sealPending(pendingCipher, identity, app.clock.now(), app.cookies.prefix(pendingCookie))
    app.cookies.set(request, reply, pendingCookie, sealed, { maxAge: pendingTtl / 1000, sameSite: 'lax' })
    return true
  }

  /** Signs the user in, or completes the link or confirmation, and returns the URL for the browser. */
  async function complete(request: FastifyRequest, reply: FastifyReply, flow: Flow, found: Opened) {
    const config = app.config.current()
    if (flow.intent === 'confirm') {
      const facts = { userId: found.user.id, data: { method: 'social', provider: flow.provider } }
      await recordEvents(app.database, eventContext(request), { type: 'password_confirmed', ...facts })
      await markConfirmed(visitOf(request))
    }
    if (flow.intent === 'link' || flow.intent === 'confirm') return arrival(config, flow)
    const channel = flow.intent === 'invitation' ? 'invitation' : 'social'
    const login = { ...found, remember: false, method: socialMethod, channel } as const
    const outcome = await continueSignIn(request, reply, login)
    return outcome === 'challenged' ? challengePage(config, flow) : arrival(config, flow)
  }

  app.post(
    '/auth/:provider/callback',
    {
      // No provider sends more than fits in a URL.
      bodyLimit: 8_192,
      config: { access: { family: 'none' }, needsDatabase: false },
      schema: {
        operationId: 'repeatProviderCallback',
        tags: ['Social login'],
        summary: 'Provider callback by POST',
        description: 'Redirects to the GET callback, because cross-site POST requests carry no cookie.',
        params: ProviderParams,
        consumes: [formType],
        body: CallbackBody,
        response: { 303: Type.Null({ description: 'To the same path with the same parameters.' }) },
      },
    },
    async (request, reply) => {
      const { id } = providerOf(request.params.provider)
      const url = new URL(callbackPath(id), app.config.current().app.url)
      for (const [name, value] of Object.entries(request.body)) {
        if (typeof value === 'string') url.searchParams.append(name, value)
      }
      return reply.redirect(url.href, 303)
    },
  )

  app.post(
    '/auth/:provider/token',
    {
      config: { access: { family: 'none', pages: 'trusted' }, limit: 'token', alsoAnswers: [400, 403, 404, 409] },
      schema: {
        operationId: 'loginWithProviderToken',
        tags: ['Social login'],
        summary: 'Sign in a mobile app: exchange the code of a provider for an API token',
        description: 'If a second factor is required, the response contains a `challenge` to send with its `code`.',
        params: ProviderParams,
        body: TokenBody,
        response: { 200: TokenAnswer },
      },
    },
    async (request) => {
      const provider = providerOf(request.params.provider)
      const { body } = request
      if (body.challenge) return signIns.resume(visitOf(request), body.challenge, body)
      requireFields(body, ['code', 'device_name'])
      const first = await redeemMobile(visitOf(request), parts, provider, body.code ?? '', body)
      return signIns.finish(visitOf(request), first, body.device_name ?? '', { terms: body.terms })
    },
  )

  await app.register(confirmPageRoutes, { begin, providerOf })
  await app.register(confirmationRoutes, { begin, providerOf })
  await app.register(invitationRoutes, { begin, providerOf })
  await app.register(linkRoutes, { begin, providerOf })
  await app.register(linkOnSignIn)
}

export default social
