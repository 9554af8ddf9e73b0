import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitOf } from '../../auth/access/visit.ts'
import { provePassword } from '../../auth/sign-in/authenticate.ts'
import { challengedUser, completeChallenge, continueSignIn, lateAddress } from '../../auth/sign-in/challenge.ts'
import { typedIdentifier } from '../../auth/sign-in/identifier.ts'
import { secondFactorErrors } from '../../auth/sign-in/second-factor.ts'
import type { UserWithPassword } from '../../identity/users.ts'
import { continuing } from '../../pages/after-form.ts'
import { redirectOn, returnField, showDestination, withReturn } from '../../pages/continuation.ts'
import { type FormState, formOf, formPage, fresh, pageRoute } from '../../pages/form-page.ts'
import { adminPage, forgotPage, isOwnFrontEnd, linkPage, registrationPage, signInPage } from '../../pages/links.ts'
import type { PagePart } from '../../pages/page-part.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { type TextName, textsOf } from '../../pages/texts.ts'
import type { Config } from '../../platform/config/schema.ts'
import { type FieldErrors, notFound, validationFailed } from '../../platform/errors.ts'
import { typedText, uncheckedText } from '../../platform/http/fields.ts'
import { isSet } from '../../platform/http/flag.ts'
import { returnTarget } from '../../platform/http/return-to.ts'
import { type Static, Type } from '../../platform/json-schema.ts'

const path = '/oauth/login'

const Query = Type.Object({
  return_to: uncheckedText(returnField),
  restart: uncheckedText('`1`: starts again, although a second factor is pending.'),
  prompt: uncheckedText('`login` shows the form even if the user is signed in.'),
  login_hint: uncheckedText('Prefills the email address.'),
  reset: uncheckedText('`1`: shows that the password was reset.'),
  error: uncheckedText('The error code of a failed sign-in.'),
})

const FormBody = formOf('SignInForm', {
  return_to: 'A path of svc to continue to.',
  email: 'The email address, or the username where `login.identifiers` lists it.',
  password: 'The password.',
  remember: '`1`: keep the browser signed in.',
  code: 'A TOTP code, instead of address and password.',
  recovery_code: 'A recovery code, instead of `code`.',
  trust_browser: '`1`: later sign-ins in this browser need no code, for `login.trust_browser`.',
})

type Form = Static<typeof FormBody>

/** Says what the form expects in its first field. */
const invalidIdentifier = ({ login }: Config): string =>
  login.identifiers.includes('username')
    ? 'The username field is invalid.'
    : 'The email field must be a valid email address.'

/** Tests for the form with the code of a second factor. */
const isSecond = (form: Form): boolean => 'code' in form || 'recovery_code' in form

/** Tests for the link of a verification mail, which requires a session. */
const isVerification = (returnTo: string | null): boolean => /^\/(email\/verify|verify-email)\//.test(returnTo ?? '')

/** Returns why the user should sign in, unless it is to use an application. */
function reasonOf(returnTo: string | null): TextName | null {
  if (isVerification(returnTo)) return 'login.verify_reason'
  if (returnTo === adminPage || returnTo?.startsWith(`${adminPage}/`)) return 'login.admin_reason'
  return returnTo?.split('?')[0] === linkPage ? 'login.link_reason' : null
}

const signInAnswer = {
  description: '#SignInPage An HTML page. With `Refresh`, it waits until the browser has bound the session.',
  headers: { Refresh: { type: 'string', description: 'The seconds until the page loads again, and its address.' } },
  content: { 'text/html': { schema: { type: 'string' } } },
}

/** Milliseconds that a browser may take to register a key after the sign-in. */
const bindingTime = 20_000

interface LoginPage {
  form?: Form
  notice?: TextName | null
  alert?: TextName | null
  isReauthentication?: boolean
}

/** Sign-in pages for password and second factor; they work without JavaScript. */
const signInPages: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)

  const loginPage = (
    reply: FastifyReply,
    returnTo: string | null,
    { form = {}, notice = null, alert = null, isReauthentication = false }: LoginPage,
    { errors, status } = fresh,
  ) =>
    reply.page(
      'login',
      {
        action: path,
        returnTo,
        email: typedText(form.email),
        identifiers: app.config.current().login.identifiers,
        remember: isSet(form.remember),
        errors,
        reason: reasonOf(returnTo),
        notice,
        alert,
        forgotHref: forgotPage,
        registerHref: registrationPage(app.config.current(), returnTo),
        parts: app.features.flatMap(({ signInPage }) => {
          if (!signInPage) return []
          const part = signInPage.part(app.config.current(), { returnTo, isReauthentication })
          return { ...part, isPreferred: signInPage.isPreferred?.(visitOf(reply.request)) ?? false }
        }),
      },
      status,
    )

  async function challengePage(
    reply: FastifyReply,
    returnTo: string | null,
    { user }: UserWithPassword,
    { errors, status } = fresh,
  ) {
    const parts: PagePart[] = []
    for (const feature of app.features) {
      const part = await feature.challengePage?.(app, user.id)
      if (part) parts.push(part)
    }
    const loginHref = withReturn(path, returnTo, { restart: '1' })
    const { trust_browser: lifetime } = app.config.current().login
    const trustUntil = lifetime === 0 ? null : app.clock.now() + lifetime
    return reply.page('challenge', { action: path, returnTo, errors, trustUntil, loginHref, parts }, status)
  }

  /** Says whether the session must be bound first. The browser registers its key meanwhile, and the page loads again. */
  function waitForBinding(request: FastifyRequest, reply: FastifyReply): 'waits' | 'in vain' | null {
    const { held } = request.session.state ?? {}
    if (!held || held.bindingId !== null) return null
    if (app.clock.now() - held.createdAt > bindingTime) return 'in vain'
    reply.header('refresh', `1; url=${request.url}`)
    return 'waits'
  }

  function bindingPage(request: FastifyRequest) {
    const text = textsOf(request)
    const link = { href: request.url, label: text('binding.continue') }
    return { title: text('binding.title'), message: text('binding.lead'), link }
  }

  /** Returns the text of the first feature that has one. */
  const alertOf = (code: unknown): TextName | null =>
    app.features.flatMap(({ signInPage }) => signInPage?.alert?.(code) ?? [])[0] ?? null

  formPage(app, {
    path,
    operation: 'SignIn',
    config: { access: { family: 'session', caller: 'guest' } },
    show: {
      query: Query,
      summary: 'sign in',
      description:
        'Continues at `return_to` after the sign-in. Shows the form for the code while a second factor is pending.',
      response: {
        200: signInAnswer,
        302: Type.Null({ description: "To `links.login`, the application's own page." }),
        303: Type.Null({ description: 'Already signed in: to `return_to`.' }),
      },
      async page(request, reply) {
        const config = app.config.current()
        const returnTo = returnTarget(config, request.query.return_to)
        if (config.links.login !== null) return reply.redirect(signInPage(config, returnTo ?? '/'), 302)
        await showDestination(reply, returnTo)
        const isRestarted = request.query.restart !== undefined
        const challenged = isRestarted ? null : await challengedUser(visitOf(request))
        if (challenged) return challengePage(reply, returnTo, challenged)
        const isReauthentication = request.query.prompt === 'login'
        if (request.caller && !isReauthentication) return redirectOn(reply, returnTo)
        const waiting = waitForBinding(request, reply)
        if (waiting === 'waits') return reply.page('message', bindingPage(request))
        const notice = request.query.reset === undefined ? null : 'login.after_reset'
        const refused = waiting === 'in vain' ? 'login.unbound' : null
        const alert = request.query.error === undefined ? refused : alertOf(request.query.error)
        const form = { email: typedText(request.query.login_hint) }
        return loginPage(reply, returnTo, { notice, alert, isReauthentication, form })
      },
    },
    submit: {
      // Errors show the form again.
      config: { alsoAnswers: [401] },
      summary: 'sign in by password, then by second factor',
      description:
        'Send `email` and `password` first. If the account has a second factor, send `code` or `recovery_code` next, within ten minutes. Errors show the form again.',
      response: { 200: continuing },
      next: 'To `return_to` or the form for the second factor.',
      form: FormBody,
      async send(request, reply) {
        const returnTo = returnTarget(app.config.current(), request.body.return_to)
        await showDestination(reply, returnTo)
        return isSecond(request.body) ? second(request, reply, returnTo) : first(request, reply, returnTo)
      },
      again(request, reply, state) {
        const form = request.body
        const returnTo = returnTarget(app.config.current(), form.return_to)
        if (isSecond(form)) return askAgain(request, reply, returnTo, state)
        return loginPage(reply, returnTo, { form }, state)
      },
    },
  })

  async function first(request: FastifyRequest<{ Body: Form }>, reply: FastifyReply, returnTo: string | null) {
    const form = request.body
    const password = typedText(form.password)
    const named = typedIdentifier(app.config.current(), typedText(form.email))
    const errors: FieldErrors = {
      ...(named ? {} : { email: [invalidIdentifier(app.config.current())] }),
      ...(password === '' ? { password: ['The password field is required.'] } : {}),
    }
    if (!named || password === '') throw validationFailed(errors)
    const found = await provePassword(visitOf(request), { ...named, password, channel: 'page' })
    const incorrect = textsOf(request)('email' in named ? 'login.incorrect' : 'login.incorrect_username')
    if (!found) return loginPage(reply, returnTo, { form }, { errors: { email: [incorrect] }, status: 401 })
    const login = { ...found, remember: isSet(form.remember), channel: 'page' } as const
    const outcome = await continueSignIn(request, reply, login)
    return outcome === 'challenged' ? reply.redirect(withReturn(path, returnTo), 303) : redirectOn(reply, returnTo)
  }

  async function second(request: FastifyRequest<{ Body: Form }>, reply: FastifyReply, returnTo: string | null) {
    const proof = { code: typedText(request.body.code), recovery_code: typedText(request.body.recovery_code) }
    const { trust_browser } = request.body
    if (await completeChallenge(request, reply, { ...proof, trust_browser })) return redirectOn(reply, returnTo)
    return askAgain(request, reply, returnTo, { errors: secondFactorErrors(proof), status: 422 })
  }

  /** Shows the challenge again; if it has expired, the user starts over. */
  async function askAgain(request: FastifyRequest, reply: FastifyReply, returnTo: string | null, state: FormState) {
    const challenged = await challengedUser(visitOf(request))
    if (challenged) return challengePage(reply, returnTo, challenged, state)
    const email = await lateAddress(visitOf(request))
    if (email === null) return reply.redirect(withReturn(path, returnTo), 303)
    const form = { email, remember: request.session.pendingLogin?.remember ? '1' : '' }
    return loginPage(reply, returnTo, { alert: 'login.challenge_expired', form }, { errors: {}, status: 422 })
  }

  // Addresses that people type or remember from other servers. Their POST routes are for programs.
  for (const [address, operationId, page] of [
    ['/login', 'redirectToSignIn', path],
    ['/register', 'redirectToRegistration', '/oauth/register'],
    ['/forgot-password', 'redirectToForgotPassword', forgotPage],
  ] as const) {
    app.get(
      address,
      {
        config: { access: { family: 'none' } },
        schema: {
          operationId,
          tags: ['Pages'],
          summary: `Redirect to ${page}`,
          description: 'For browsers that open the address.',
          querystring: Type.Object({ return_to: Query.properties.return_to, login_hint: Query.properties.login_hint }),
          response: { 302: Type.Null({ description: 'To the page.' }) },
        },
      },
      async ({ query }, reply) => {
        const hint = typeof query.login_hint === 'string' ? { login_hint: query.login_hint } : {}
        return reply.redirect(withReturn(page, returnTarget(app.config.current(), query.return_to), hint), 302)
      },
    )
  }

  pageRoute(app, {
    path: '/two-factor-challenge',
    operation: 'TwoFactorChallenge',
    config: { access: { family: 'session', caller: 'guest' }, alsoAnswers: [404] },
    query: Query,
    summary: 'second factor of a pending sign-in',
    description: '404 unless `app.frontend_url` equals `app.url`.',
    response: {
      200: pageAnswers.page,
      302: Type.Null({ description: 'To the sign-in page: no second factor is pending.' }),
    },
    async page(request, reply) {
      if (!isOwnFrontEnd(app.config.current())) throw notFound()
      const returnTo = returnTarget(app.config.current(), request.query.return_to)
      const challenged = await challengedUser(visitOf(request))
      if (challenged) return challengePage(reply, returnTo, challenged)
      return reply.redirect(withReturn(path, returnTo), 302)
    },
  })
}

export default signInPages
