import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { continueSignIn } from '../../auth/sign-in/challenge.ts'
import { continuing } from '../../pages/after-form.ts'
import { redirectOn, showDestination, withReturn } from '../../pages/continuation.ts'
import { registrationPage } from '../../pages/links.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { type FieldErrors, HttpError, notFound } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { checkBody } from '../../platform/http/check-body.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { isSet } from '../../platform/http/flag.ts'
import { returnTarget } from '../../platform/http/return-to.ts'
import { type Static, Type } from '../../platform/json-schema.ts'
import { RegisterBody, register } from './register.ts'

const path = '/oauth/register'

const returnTo = uncheckedText(
  'Where to continue: a path of svc, or the https URL of a service that a guard rule names by its host.',
)

const FormBody = Type.Object(
  {
    return_to: returnTo,
    name: uncheckedText('The full name.'),
    email: uncheckedText('The email address.'),
    password: uncheckedText('The password.'),
    remember: uncheckedText('`1`: keep the browser signed in.'),
  },
  { title: 'RegisterForm', additionalProperties: false },
)

type Form = Static<typeof FormBody>

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Page for self-registration; it works without JavaScript. */
const registrationPages: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)
  app.addHook('onRequest', async () => {
    if (!app.config.current().registration.enabled) throw notFound()
  })

  const page = (
    reply: FastifyReply,
    target: string | null,
    { form = {}, errors = {} }: { form?: Form; errors?: FieldErrors } = {},
    status = 200,
  ) =>
    reply.page(
      'register',
      {
        action: path,
        returnTo: target,
        name: text(form.name),
        email: text(form.email),
        remember: isSet(form.remember),
        errors,
        minLength: app.config.current().passwords.min_length,
        loginHref: withReturn('/oauth/login', target),
        parts: app.features.flatMap(
          ({ registrationPage: partOf }) => partOf?.(app.config.current(), { returnTo: target }) ?? [],
        ),
      },
      status,
    )

  app.get(
    path,
    {
      config: { access: { family: 'session', caller: 'guest' }, alsoAnswers: [404] },
      schema: {
        operationId: 'showRegistration',
        tags: ['Pages'],
        summary: 'Page: create an account',
        description: '404 unless `registration.enabled` is set.',
        querystring: Type.Object({
          return_to: returnTo,
          login_hint: uncheckedText('Prefills the email address.'),
        }),
        response: {
          200: pageAnswers.page,
          302: Type.Null({ description: "To `links.register`, the application's own page." }),
          303: Type.Null({ description: 'Already signed in: to `return_to`.' }),
        },
      },
    },
    async (request, reply) => {
      const config = app.config.current()
      const target = returnTarget(config, request.query.return_to)
      if (config.links.register !== null) return reply.redirect(registrationPage(config, target) ?? path, 302)
      if (request.caller) return redirectOn(reply, target)
      await showDestination(reply, target)
      return page(reply, target, { form: { email: request.query.login_hint } })
    },
  )

  app.post(
    path,
    {
      config: { access: { family: 'session', caller: 'guest' }, limit: 'register', alsoAnswers: [404, 409] },
      schema: {
        operationId: 'submitRegistration',
        tags: ['Pages'],
        summary: 'Form: create an account and sign the browser in',
        description: 'Like `POST /register`. An invalid form is shown again with 422.',
        consumes: [formType],
        body: FormBody,
        response: { 200: continuing, 303: Type.Null({ description: 'To `return_to` or the start page.' }) },
      },
    },
    async (request, reply) => {
      const form = request.body
      const target = returnTarget(app.config.current(), form.return_to)
      await showDestination(reply, target)
      try {
        await continueSignIn(request, reply, await register(request, checked(request, form)))
        return redirectOn(reply, target)
      } catch (error) {
        if (!(error instanceof HttpError) || !error.errors) throw error
        return page(reply.headers(error.headers), target, { form, errors: error.errors }, error.statusCode)
      }
    },
  )
}

/** The form as a body of `POST /register`. The page has one password field. */
function checked(request: FastifyRequest, { return_to: _, ...fields }: Form): Static<typeof RegisterBody> {
  return checkBody(request, RegisterBody, { ...fields, password_confirmation: fields.password })
}

export default registrationPages
