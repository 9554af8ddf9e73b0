import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { type FieldErrors, HttpError, notFound } from '../../errors.ts'
import { isSet } from '../../http/flag.ts'
import { isEmail } from '../../http/formats.ts'
import { localPath } from '../../http/return-to.ts'
import { authenticate } from '../../login/authenticate.ts'
import { beginChallenge, challengedUser, completeChallenge } from '../../login/challenge.ts'
import { secondFactorErrors } from '../../login/second-factor.ts'
import { signIn } from '../../login/sign-in.ts'
import { isOwnFrontEnd, signInPage, startPage } from '../../pages/links.ts'
import type { SocialLink } from '../../pages/page-data.ts'
import { allowFormTarget } from '../../pages/page-headers.ts'
import { addPages, pageAnswer } from '../../pages/pages.ts'
import type { TextName } from '../../pages/texts.ts'

const path = '/oauth/login'

const Query = Type.Object({
  return_to: Type.Optional(Type.Unknown({ description: 'A path of svc to go on to.' })),
  restart: Type.Optional(Type.Unknown({ description: 'Asks for the password again although a code is waited for.' })),
  prompt: Type.Optional(Type.Unknown({ description: '`login` asks for the password although somebody is signed in.' })),
  login_hint: Type.Optional(Type.Unknown({ description: 'The address to begin with.' })),
  reset: Type.Optional(Type.Unknown({ description: 'Says that the password was reset.' })),
  error: Type.Optional(Type.Unknown({ description: 'Why a sign-in by another provider came to nothing.' })),
})

const FormBody = Type.Object(
  {
    return_to: Type.Optional(Type.Unknown()),
    email: Type.Optional(Type.Unknown()),
    password: Type.Optional(Type.Unknown()),
    remember: Type.Optional(Type.Unknown()),
    code: Type.Optional(Type.Unknown({ description: 'The second form: in place of address and password.' })),
    recovery_code: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: false },
)

type Form = Static<typeof FormBody>

const wrongCredentials: FieldErrors = { email: ['These credentials do not match our records.'] }

/** What is said of a code that a sign-in by another provider ended with. */
function alertOf(code: unknown): TextName | null {
  switch (code) {
    case undefined:
      return null
    case 'access_denied':
    case 'expired':
    case 'email_missing':
    case 'email_unverified':
    case 'account_exists':
    case 'registration_disabled':
      return `login.${code}`
    default:
      return 'login.provider_failed'
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** svc's own path of this page with where to go on to. */
const withReturn = (returnTo: string | null, more: Record<string, string> = {}): string => {
  const query = new URLSearchParams({ ...more, ...(returnTo === null ? {} : { return_to: returnTo }) }).toString()
  return query === '' ? path : `${path}?${query}`
}

interface SignInPageOptions {
  /** Where a path to go on to ends in the browser, if that is out of svc. */
  formTarget: (request: FastifyRequest, returnTo: string | null) => Promise<string | null>
  /** Links to other identity providers, which lead back to a path of svc; `isAnew` where people are to prove again who they are. */
  socialButtons: (returnTo: string | null, isAnew: boolean) => SocialLink[]
}

/** svc's own sign-in: password, second factor and passkey, as forms that work without JavaScript. */
const signInPages: FastifyPluginAsyncTypebox<SignInPageOptions> = async (app, { formTarget, socialButtons }) => {
  await addPages(app)

  const loginPage = (
    reply: FastifyReply,
    returnTo: string | null,
    {
      errors = {},
      form = {},
      notice = null,
      alert = null,
      isAnew = false,
    }: { errors?: FieldErrors; form?: Form; notice?: TextName | null; alert?: TextName | null; isAnew?: boolean },
    status = 200,
  ) =>
    reply.page(
      'login',
      {
        action: path,
        returnTo,
        email: text(form.email),
        remember: isSet(form.remember),
        errors,
        notice,
        alert,
        forgotHref: '/oauth/forgot-password',
        passkeys: app.config.current().passkeys.enabled,
        social: socialButtons(returnTo, isAnew),
      },
      status,
    )

  const challengePage = (reply: FastifyReply, returnTo: string | null, errors: FieldErrors = {}, status = 200) =>
    reply.page(
      'challenge',
      { action: path, returnTo, errors, loginHref: withReturn(returnTo, { restart: '1' }) },
      status,
    )

  /** Lets the forms lead all the way: browsers hold every redirect after a form to the list of targets. */
  async function allowReturn(reply: FastifyReply, returnTo: string | null): Promise<void> {
    const target = await formTarget(reply.request, returnTo)
    if (target !== null) allowFormTarget(reply, target)
  }

  const goOn = (reply: FastifyReply, returnTo: string | null) =>
    reply.redirect(returnTo ?? startPage(app.config.current()), 303)

  app.get(
    path,
    {
      config: { access: { family: 'session', caller: 'guest' } },
      schema: {
        summary: 'Page: sign in',
        querystring: Query,
        response: {
          200: pageAnswer('The form for the password, or for the second factor that is waited for.'),
          302: Type.Null({ description: "To `links.login`, the application's own page." }),
          303: Type.Null({ description: 'Signed in already: on to `return_to`.' }),
        },
      },
    },
    async (request, reply) => {
      const config = app.config.current()
      const returnTo = localPath(request.query.return_to)
      if (config.links.login !== null) return reply.redirect(signInPage(config, returnTo ?? '/'), 302)
      await allowReturn(reply, returnTo)
      const isRestarted = request.query.restart !== undefined
      if (!isRestarted && (await challengedUser(request))) return challengePage(reply, returnTo)
      const isAnew = request.query.prompt === 'login'
      if (request.caller && !isAnew) return goOn(reply, returnTo)
      const notice = request.query.reset === undefined ? null : 'login.after_reset'
      const alert = alertOf(request.query.error)
      return loginPage(reply, returnTo, { notice, alert, isAnew, form: { email: text(request.query.login_hint) } })
    },
  )

  app.post(
    path,
    {
      config: { access: { family: 'session', caller: 'guest' } },
      schema: {
        summary: 'Form: sign in by password, then by second factor',
        body: FormBody,
        response: {
          303: Type.Null({ description: 'On to `return_to`, or to the form for the second factor.' }),
          401: pageAnswer('The form again.'),
          422: pageAnswer('The form again.'),
          429: pageAnswer('The form again; `Retry-After` tells when to try.'),
        },
      },
    },
    async (request, reply) => {
      const form = request.body
      const returnTo = localPath(form.return_to)
      await allowReturn(reply, returnTo)
      const isSecond = 'code' in form || 'recovery_code' in form
      try {
        return isSecond ? await second(request, reply, returnTo) : await first(request, reply, returnTo)
      } catch (error) {
        if (!(error instanceof HttpError) || !error.errors) throw error
        reply.headers(error.headers)
        if (isSecond) return challengePage(reply, returnTo, error.errors, error.statusCode)
        return loginPage(reply, returnTo, { errors: error.errors, form }, error.statusCode)
      }
    },
  )

  async function first(request: FastifyRequest<{ Body: Form }>, reply: FastifyReply, returnTo: string | null) {
    const form = request.body
    const [email, password] = [text(form.email), text(form.password)]
    const errors: FieldErrors = {
      ...(isEmail(email) ? {} : { email: ['The email field must be a valid email address.'] }),
      ...(password === '' ? { password: ['The password field is required.'] } : {}),
    }
    if (Object.keys(errors).length > 0) return loginPage(reply, returnTo, { errors, form }, 422)
    const found = await authenticate(request, { email, password, channel: 'page' })
    if (!found) return loginPage(reply, returnTo, { errors: wrongCredentials, form }, 401)
    const login = { ...found, remember: isSet(form.remember), channel: 'page' } as const
    if (app.secondFactor.isAskedOf(found.user)) {
      await beginChallenge(request, reply, login)
      return reply.redirect(withReturn(returnTo), 303)
    }
    await signIn(request, reply, login)
    return goOn(reply, returnTo)
  }

  async function second(request: FastifyRequest<{ Body: Form }>, reply: FastifyReply, returnTo: string | null) {
    const proof = { code: text(request.body.code), recovery_code: text(request.body.recovery_code) }
    if (await completeChallenge(request, reply, proof)) return goOn(reply, returnTo)
    // Nothing waits any more: whoever comes too late begins anew.
    if (!(await challengedUser(request))) return reply.redirect(withReturn(returnTo), 303)
    return challengePage(reply, returnTo, secondFactorErrors(proof), 422)
  }

  app.get(
    '/two-factor-challenge',
    {
      config: { access: { family: 'session', caller: 'guest' }, alsoAnswers: [404] },
      schema: {
        summary: 'Page: the second factor of a sign-in that waits for it',
        description: 'Only where `app.frontend_url` is `app.url`; elsewhere 404.',
        querystring: Query,
        response: {
          200: pageAnswer('The form for the code.'),
          302: Type.Null({ description: 'To sign in: nothing waits for a code.' }),
        },
      },
    },
    async (request, reply) => {
      if (!isOwnFrontEnd(app.config.current())) throw notFound()
      const returnTo = localPath(request.query.return_to)
      if (await challengedUser(request)) return challengePage(reply, returnTo)
      return reply.redirect(withReturn(returnTo), 302)
    },
  )
}

export default signInPages
