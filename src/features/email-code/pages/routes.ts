import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { emailCodeMethod } from '../../../auth/sign-in/authentication-methods.ts'
import { continueSignIn } from '../../../auth/sign-in/challenge.ts'
import type { WaitingCode } from '../../../auth/sign-in/login-code-store.ts'
import { enterCodePath, requestCodePath } from '../../../auth/sign-in/login-codes.ts'
import { continuing } from '../../../pages/after-form.ts'
import { redirectOn, showDestination, withReturn } from '../../../pages/continuation.ts'
import { linkTo, startPage } from '../../../pages/links.ts'
import { addPages, pageAnswers } from '../../../pages/pages.ts'
import { textsOf } from '../../../pages/texts.ts'
import { type FieldErrors, HttpError, notFound } from '../../../platform/errors.ts'
import { formType } from '../../../platform/http/bodies.ts'
import { uncheckedText } from '../../../platform/http/fields.ts'
import { isSet } from '../../../platform/http/flag.ts'
import { isEmail } from '../../../platform/http/formats.ts'
import { returnTarget } from '../../../platform/http/return-to.ts'
import { type Static, Type } from '../../../platform/json-schema.ts'
import { wrongCode } from '../wrong-code.ts'

const returnTo = uncheckedText(
  'Where to continue: a path of svc, or the https URL of a service that a guard rule names by its host.',
)

const RequestForm = Type.Object(
  {
    return_to: returnTo,
    email: uncheckedText('The email address.'),
    remember: uncheckedText('`1`: keep the browser signed in.'),
  },
  { title: 'LoginCodeRequestForm', additionalProperties: false },
)

const CodeForm = Type.Object(
  { code: uncheckedText('The six digits of the mail.') },
  { title: 'LoginCodeForm', additionalProperties: false },
)

const guest = { family: 'session', caller: 'guest' } as const
const invalidEmail: FieldErrors = { email: ['The email field must be a valid email address.'] }

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Pages for sign-in by mailed code; they work without JavaScript. */
const emailCodePages: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)
  app.addHook('onRequest', async () => {
    if (!app.config.current().login.email_code) throw notFound()
  })

  const requestPage = (
    reply: FastifyReply,
    target: string | null,
    { form = {}, errors = {} }: { form?: Static<typeof RequestForm>; errors?: FieldErrors } = {},
    status = 200,
  ) =>
    reply.page(
      'email-code-request',
      {
        action: requestCodePath,
        returnTo: target,
        email: text(form.email),
        remember: isSet(form.remember),
        errors,
        loginHref: withReturn('/oauth/login', target),
      },
      status,
    )

  const codePage = (
    reply: FastifyReply,
    { email, returnTo, remember }: WaitingCode,
    { code = '', errors = {} }: { code?: string; errors?: FieldErrors } = {},
    status = 200,
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

  app.get(
    requestCodePath,
    {
      config: { access: guest, alsoAnswers: [404] },
      schema: {
        operationId: 'showLoginCodeRequest',
        tags: ['Pages'],
        summary: 'Page: request a sign-in code by mail',
        description: '404 unless `login.email_code` is set. The sign-in page posts to the form directly.',
        querystring: Type.Object({ return_to: returnTo, login_hint: uncheckedText('Prefills the email address.') }),
        response: { 200: pageAnswers.page },
      },
    },
    async (request, reply) => {
      const target = returnTarget(app.config.current(), request.query.return_to)
      return requestPage(reply, target, { form: { email: request.query.login_hint } })
    },
  )

  app.post(
    requestCodePath,
    {
      config: { access: guest, limit: 'mail', alsoAnswers: [404] },
      schema: {
        operationId: 'submitLoginCodeRequest',
        tags: ['Pages'],
        summary: 'Form: mail a sign-in code',
        description: 'Like `POST /login/email-code`. An invalid form is shown again with 422.',
        consumes: [formType],
        body: RequestForm,
        response: { 303: Type.Null({ description: 'To the page for the code.' }) },
      },
    },
    async (request, reply) => {
      const form = request.body
      const email = text(form.email)
      const target = returnTarget(app.config.current(), form.return_to)
      if (!isEmail(email)) return requestPage(reply, target, { form, errors: email === '' ? {} : invalidEmail }, 422)
      const holder = request.session.sessionId
      const asked = { holder, email, remember: isSet(form.remember), returnTo: target, link: true }
      try {
        await app.loginCodes.request(request, asked)
      } catch (error) {
        if (!(error instanceof HttpError) || !error.errors) throw error
        return requestPage(reply.headers(error.headers), target, { form, errors: error.errors }, error.statusCode)
      }
      app.sessions.sendCookies(request, reply)
      return reply.redirect(enterCodePath, 303)
    },
  )

  app.get(
    enterCodePath,
    {
      config: { access: guest, alsoAnswers: [404] },
      schema: {
        operationId: 'showLoginCode',
        tags: ['Pages'],
        summary: 'Page: enter a mailed sign-in code',
        description:
          'The mailed link leads here. In the browser that requested the code, the form has the code. Opening the page does not use the code up.',
        querystring: Type.Object({ code: uncheckedText('The code of the mailed link.') }),
        response: {
          200: pageAnswers.page,
          302: Type.Null({ description: 'To the page that requests a code: none is pending.' }),
        },
      },
    },
    async (request, reply) => {
      const code = text(request.query.code)
      const waiting = await app.loginCodes.waiting(request.session.sessionId)
      if (waiting) {
        await showDestination(reply, waiting.returnTo)
        // Shown whether it is right or not: only an attempt may reveal that.
        return codePage(reply, waiting, { code: /^\d{6}$/.test(code) ? code : '' })
      }
      if (code === '') return reply.redirect(requestCodePath, 302)
      const words = textsOf(request)
      return reply.page('message', {
        title: words('email-code.other_browser'),
        message: words('email-code.other_browser_text'),
        link: { href: requestCodePath, label: words('email-code.request') },
      })
    },
  )

  app.post(
    enterCodePath,
    {
      config: { access: guest, alsoAnswers: [401, 404, 429] },
      schema: {
        operationId: 'submitLoginCode',
        tags: ['Pages'],
        summary: 'Form: sign in with a mailed code',
        description: 'Like `POST /login/email-code/verify`. An invalid code shows the form again.',
        consumes: [formType],
        body: CodeForm,
        response: {
          200: continuing,
          303: Type.Null({ description: 'To `return_to` or the form for the second factor.' }),
        },
      },
    },
    async (request, reply) => {
      const waiting = await app.loginCodes.waiting(request.session.sessionId)
      if (!waiting) return requestPage(reply, null, { errors: { code: [wrongCode] } }, 422)
      await showDestination(reply, waiting.returnTo)
      try {
        return (await enter(request, reply)) ?? codePage(reply, waiting, { errors: { code: [wrongCode] } }, 422)
      } catch (error) {
        if (!(error instanceof HttpError) || !error.errors) throw error
        return codePage(reply.headers(error.headers), waiting, { errors: error.errors }, error.statusCode)
      }
    },
  )

  /** Signs the browser in; null for an invalid code. */
  async function enter(request: FastifyRequest<{ Body: Static<typeof CodeForm> }>, reply: FastifyReply) {
    const holder = request.session.sessionId
    const proved = await app.loginCodes.verify(request, { holder, code: text(request.body.code) })
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
