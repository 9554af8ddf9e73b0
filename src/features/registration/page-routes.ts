import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { visitOf } from '../../auth/access/visit.ts'
import { continueSignIn } from '../../auth/sign-in/challenge.ts'
import { nameFields } from '../../identity/chosen-names.ts'
import { continuing } from '../../pages/after-form.ts'
import { redirectOn, returnField, showDestination, withReturn } from '../../pages/continuation.ts'
import { fieldInForm, fieldsOfForm, userFormFields } from '../../pages/form-fields.ts'
import { formOf, formPage, fresh } from '../../pages/form-page.ts'
import { registrationPage } from '../../pages/links.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import type { Config } from '../../platform/config/schema.ts'
import { notFound } from '../../platform/errors.ts'
import { checkBody } from '../../platform/http/check-body.ts'
import { typedText, uncheckedText } from '../../platform/http/fields.ts'
import { isSet } from '../../platform/http/flag.ts'
import { languageOf } from '../../platform/http/language.ts'
import { returnTarget } from '../../platform/http/return-to.ts'
import { type Static, Type } from '../../platform/json-schema.ts'
import { RegisterBody, register } from './register.ts'

const path = '/oauth/register'

const FormBody = formOf(
  'RegisterForm',
  {
    return_to: returnField,
    name: 'The full name.',
    username: 'The username, where users choose it.',
    given_name: 'The given name, where users enter it.',
    family_name: 'The family name, where users enter it.',
    email: 'The email address.',
    password: 'The password.',
    remember: '`1`: keep the browser signed in.',
    terms: 'The version of the terms that the user accepts.',
  },
  { pattern: fieldInForm },
)

type Form = Static<typeof FormBody>

/** Page for self-registration; it works without JavaScript. */
const registrationPages: FastifyPluginAsync = async (app) => {
  await addPages(app)
  app.addHook('onRequest', async () => {
    if (!app.config.current().registration.enabled) throw notFound()
  })

  const page = (reply: FastifyReply, target: string | null, form: Form, { errors, status } = fresh) => {
    const config = app.config.current()
    return reply.page(
      'register',
      {
        action: path,
        returnTo: target,
        name: typedText(form.name),
        fields: userFormFields({
          config,
          language: languageOf(reply.request),
          text: textsOf(reply.request),
          values: form,
          isSent: true,
          stored: {},
          asked: 'registration',
          asksUsername: config.users.username.enabled,
        }),
        email: typedText(form.email),
        remember: isSet(form.remember),
        errors,
        minLength: config.passwords.min_length,
        terms: shownTerms(config),
        loginHref: withReturn('/oauth/login', target),
        parts: app.features.flatMap(({ registrationPage: partOf }) => partOf?.(config, { returnTo: target }) ?? []),
      },
      status,
    )
  }

  formPage(app, {
    path,
    operation: 'Registration',
    config: { access: { family: 'session', caller: 'guest' }, alsoAnswers: [404] },
    show: {
      query: Type.Object({
        return_to: uncheckedText(returnField),
        login_hint: uncheckedText('Prefills the email address.'),
      }),
      summary: 'create an account',
      description: '404 unless `registration.enabled` is set.',
      response: {
        200: pageAnswers.page,
        302: Type.Null({ description: "To `links.register`, the application's own page." }),
        303: Type.Null({ description: 'Already signed in: to `return_to`.' }),
      },
      async page(request, reply) {
        const config = app.config.current()
        const target = returnTarget(config, request.query.return_to)
        if (config.links.register !== null) return reply.redirect(registrationPage(config, target) ?? path, 302)
        if (request.caller) return redirectOn(reply, target)
        await showDestination(reply, target)
        return page(reply, target, { email: request.query.login_hint })
      },
    },
    submit: {
      config: { limit: 'register', alsoAnswers: [404, 409] },
      summary: 'create an account and sign the browser in',
      description: 'Like `POST /register`. An invalid form is shown again with 422.',
      response: { 200: continuing },
      next: 'To `return_to` or the start page.',
      form: FormBody,
      async send(request, reply) {
        const target = returnTarget(app.config.current(), request.body.return_to)
        await showDestination(reply, target)
        await continueSignIn(request, reply, await register(visitOf(request), checked(request, request.body)))
        return redirectOn(reply, target)
      },
      again: (request, reply, state) =>
        page(reply, returnTarget(app.config.current(), request.body.return_to), request.body, state),
    },
  })
}

const shownTerms = ({ terms: { version, url } }: Config) => (version === null || url === null ? null : { version, url })

/** The form as a body of `POST /register`. The page has one password field. */
function checked(request: FastifyRequest, { return_to: _, ...fields }: Form): Static<typeof RegisterBody> {
  const config = request.server.config.current()
  // A form sends an empty field for a name that was left out.
  const given = Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !(name in nameFields) || value !== ''),
  )
  return checkBody(request, RegisterBody, {
    ...given,
    fields: fieldsOfForm(config, fields, 'registration'),
    password_confirmation: fields.password,
  })
}

export default registrationPages
