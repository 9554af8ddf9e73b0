import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { visitOf } from '../../../auth/access/visit.ts'
import { emailCodeMethod } from '../../../auth/sign-in/authentication-methods.ts'
import { continueSignIn } from '../../../auth/sign-in/challenge.ts'
import type { WaitingCode } from '../../../auth/sign-in/login-code-store.ts'
import { enterCodePath, requestCodePath } from '../../../auth/sign-in/login-codes.ts'
import { continuing } from '../../../pages/after-form.ts'
import { redirectOn, returnField, showDestination, withReturn } from '../../../pages/continuation.ts'
import { formOf, formPage, fresh } from '../../../pages/form-page.ts'
import { linkTo, startPage } from '../../../pages/links.ts'
import { addPages, pageAnswers } from '../../../pages/pages.ts'
import { textsOf } from '../../../pages/texts.ts'
import { type FieldErrors, HttpError, notFound, validationFailed } from '../../../platform/errors.ts'
import { typedText, uncheckedText } from '../../../platform/http/fields.ts'
import { isSet } from '../../../platform/http/flag.ts'
import { isEmail } from '../../../platform/http/formats.ts'
import { returnTarget } from '../../../platform/http/return-to.ts'
import { type Static, Type } from '../../../platform/json-schema.ts'
import { wrongCode } from '../wrong-code.ts'

const RequestForm = formOf('LoginCodeRequestForm', {
  return_to: returnField,
  email: 'The email address.',
  remember: '`1`: keep the browser signed in.',
})

const CodeForm = formOf('LoginCodeForm', { code: 'The six digits of the mail.' })

const guest = { family: 'session', caller: 'guest' } as const
const invalidEmail: FieldErrors = { email: ['The email field must be a valid email address.'] }

/** Pages for sign-in by mailed code; they work without JavaScript. */
const emailCodePages: FastifyPluginAsync = async (app) => {
  await addPages(app)
  app.addHook('onRequest', async () => {
    if (!app.config.current().login.email_code) throw notFound()
  })

  const requestPage = (
    reply: FastifyReply,
    target: string | null,
    form: Static<typeof RequestForm>,
    { errors, status } = fresh,
  ) =>
    reply.page(
      'email-code-request',
      {
        action: requestCodePath,
        returnTo: target,
        email: typedText(form.email),
        remember: isSet(form.remember),
        errors,
        loginHref: withReturn('/oauth/login', target),
      },
      status,
    )

  const codePage = (
    reply: FastifyReply,
    { email, returnTo, remember }: WaitingCode,
    code: string,
    { errors, status } = fresh,
  ) =>
    reply.page(
      'email-code',
      {
        action: enterCodePath,
        email,
        code,
        errors,
        again: { action: requestCodePath, returnTo, remember },
        requestHref: withReturn(requestCodePath, returnTo),
      },
      status,
    )

  formPage(app, {
    path: requestCodePath,
    operation: 'LoginCodeRequest',
    config: { access: guest, alsoAnswers: [404] },
    show: {
      query: Type.Object({
        return_to: uncheckedText(returnField),
        login_hint: uncheckedText('Prefills the email address.'),
      }),
      summary: 'request a sign-in code by mail',
      description: '404 unless `login.email_code` is set. The sign-in page posts to the form directly.',
      page(request, reply) {
        const target = returnTarget(app.config.current(), request.query.return_to)
        return requestPage(reply, target, { email: request.query.login_hint })
      },
    },
    submit: {
      config: { limit: 'mail' },
      summary: 'mail a sign-in code',
      description: 'Like `POST /login/email-code`. An invalid form is shown again with 422.',
      next: 'To the page for the code.',
      form: RequestForm,
      async send(request, reply) {
        const form = request.body
        const email = typedText(form.email)
        // The sign-in page posts here too, and its address field may still be empty.
        if (!isEmail(email)) throw validationFailed(email === '' ? {} : invalidEmail)
        const asked = { holder: request.session.sessionId, email, remember: isSet(form.remember), link: true }
        const target = returnTarget(app.config.current(), form.return_to)
        await app.loginCodes.request(visitOf(request), { ...asked, returnTo: target })
        app.sessions.sendCookies(request, reply)
        return enterCodePath
      },
      again: (request, reply, state) =>
        requestPage(reply, returnTarget(app.config.current(), request.body.return_to), request.body, state),
    },
  })

  const wrong = { errors: { code: [wrongCode] }, status: 422 }

  formPage(app, {
    path: enterCodePath,
    operation: 'LoginCode',
    config: { access: guest, alsoAnswers: [404] },
    show: {
      query: Type.Object({ code: uncheckedText('The code of the mailed link.') }),
      summary: 'enter a mailed sign-in code',
      description:
        'The mailed link leads here. In the browser that requested the code, the form has the code. Opening the page does not use the code up.',
      response: {
        200: pageAnswers.page,
        302: Type.Null({ description: 'To the page that requests a code: none is pending.' }),
      },
      async page(request, reply) {
        const code = typedText(request.query.code)
        const waiting = await app.loginCodes.waiting(request.session.sessionId)
        if (waiting) {
          await showDestination(reply, waiting.returnTo)
          // Shown whether it is right or not: only an attempt may reveal that.
          return codePage(reply, waiting, /^\d{6}$/.test(code) ? code : '')
        }
        if (code === '') return reply.redirect(requestCodePath, 302)
        const words = textsOf(request)
        return reply.page('message', {
          title: words('email-code.other_browser'),
          message: words('email-code.other_browser_text'),
          link: { href: requestCodePath, label: words('email-code.request') },
        })
      },
    },
    submit: {
      config: { alsoAnswers: [401, 404, 429] },
      summary: 'sign in with a mailed code',
      description: 'Like `POST /login/email-code/verify`. An invalid code shows the form again.',
      response: { 200: continuing },
      next: 'To `return_to` or the form for the second factor.',
      form: CodeForm,
      async send(request, reply) {
        const waiting = await app.loginCodes.waiting(request.session.sessionId)
        if (!waiting) return requestPage(reply, null, {}, wrong)
        await showDestination(reply, waiting.returnTo)
        try {
          return (await enter(request, reply)) ?? codePage(reply, waiting, '', wrong)
        } catch (error) {
          if (!(error instanceof HttpError) || !error.errors) throw error
          const state = { errors: error.errors, status: error.statusCode }
          return codePage(reply.headers(error.headers), waiting, '', state)
        }
      },
    },
  })

  /** Signs the browser in; null for an invalid code. */
  async function enter(request: FastifyRequest<{ Body: Static<typeof CodeForm> }>, reply: FastifyReply) {
    const holder = request.session.sessionId
    const proved = await app.loginCodes.verify(visitOf(request), { holder, code: typedText(request.body.code) })
    if (!proved) return null
    const { user, password, remember, returnTo, passwordRemoved } = proved
    const login = { user, password, remember, method: emailCodeMethod, channel: 'email_code' } as const
    const outcome = await continueSignIn(request, reply, login)
    const config = app.config.current()
    if (outcome === 'signed_in') {
      if (!passwordRemoved) return redirectOn(reply, returnTo)
      const words = textsOf(request)
      return reply.page('message', {
        title: words('email-code.password_removed'),
        message: words('email-code.password_removed_text'),
        link: { href: returnTo ?? startPage(config), label: words('link-provider.continue') },
      })
    }
    const query = returnTo === null ? {} : { return_to: returnTo }
    const challenge =
      config.links.login === null ? withReturn('/oauth/login', returnTo) : linkTo(config, 'two_factor', {}, query)
    return reply.redirect(challenge, 303)
  }
}

export default emailCodePages
