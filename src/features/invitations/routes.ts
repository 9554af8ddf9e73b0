import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { eventContext, visitOf } from '../../auth/access/visit.ts'
import { continueSignIn } from '../../auth/sign-in/challenge.ts'
import { invitedAccount } from '../../auth/sign-in/decisions.ts'
import {
  acceptInvitation,
  findInvitation,
  type Invitation,
  invitationPageOf,
  invitationPath,
} from '../../identity/invitations.ts'
import { findUserByEmail } from '../../identity/users.ts'
import { redirectOn } from '../../pages/continuation.ts'
import { formOf, formPage, fresh } from '../../pages/form-page.ts'
import { startPage } from '../../pages/links.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { type TextName, textsOf } from '../../pages/texts.ts'
import { HttpError } from '../../platform/errors.ts'
import { typedText, uncheckedText } from '../../platform/http/fields.ts'
import { NewPassword, nameField, PasswordConfirmation } from '../../platform/http/validation.ts'
import { type Static, Type } from '../../platform/json-schema.ts'

const guest = { family: 'session', caller: 'guest' } as const

const Params = Type.Object({ token: Type.String({ maxLength: 64, description: 'The token of the mailed link.' }) })

const Query = Type.Object({ error: uncheckedText('The error code of a provider that did not accept it.') })

const FormBody = formOf('InvitationForm', { name: 'The full name.', password: 'The password.' })

/** The form with its rules. The page has one password field. */
const Rules = Type.Object({
  name: Type.String(nameField),
  password: NewPassword,
  password_confirmation: PasswordConfirmation,
})

type Form = Static<typeof FormBody>

/** Rolls back an accepted invitation whose address has an account by now. */
class Taken extends Error {}

/** Page that accepts an invitation with a password. It works without JavaScript and while registration is disabled. */
const invitations: FastifyPluginAsync = async (app) => {
  await addPages(app)

  const page = (
    reply: FastifyReply,
    { token, invitation }: { token: string; invitation: Invitation },
    { form = {}, alert = null }: { form?: Form; alert?: TextName | null },
    { errors, status } = fresh,
  ) => {
    const config = app.config.current()
    const action = invitationPageOf(token)
    return reply.page(
      'invitation',
      {
        action,
        token,
        email: invitation.email,
        name: typedText(form.name) || (invitation.name ?? ''),
        signedInAs: reply.request.caller?.user?.email ?? null,
        errors,
        alert,
        minLength: config.passwords.min_length,
        parts: app.features.flatMap(({ invitationPage }) => invitationPage?.part(config, { action }) ?? []),
      },
      status,
    )
  }

  const invalid = (reply: FastifyReply) => {
    const words = textsOf(reply.request)
    const texts = [words('invitation.invalid_text')]
    return reply.page('error', { heading: words('invitation.invalid'), texts, homeHref: '/oauth/login' }, 403)
  }

  /** Says that the invited address has an account. The link was mailed there, so this reveals nothing. */
  const taken = (reply: FastifyReply, { email }: Invitation) => {
    const config = app.config.current()
    const words = textsOf(reply.request)
    const link = { href: '/oauth/login', label: words('login.submit') }
    const texts = [words('invitation.taken_text', { email })]
    return reply.page('error', { heading: words('invitation.taken'), texts, link, homeHref: startPage(config) }, 403)
  }

  /** Returns the text of the first feature that has one. */
  const alertOf = (code: unknown): TextName | null =>
    app.features.flatMap(({ invitationPage }) => invitationPage?.alert?.(code) ?? [])[0] ?? null

  formPage(app, {
    path: invitationPath,
    operation: 'Invitation',
    config: { access: guest },
    params: Params,
    show: {
      query: Query,
      summary: 'accept an invitation with the link in a mail',
      description: 'Changes nothing: mail scanners follow links too.',
      response: { 200: pageAnswers.page, 403: pageAnswers.refused },
      async page(request, reply) {
        const { token } = request.params
        const invitation = await findInvitation(app, token, app.clock.now())
        if (!invitation) return invalid(reply)
        if (await findUserByEmail(app.database, invitation.email)) return taken(reply, invitation)
        return page(reply, { token, invitation }, { alert: alertOf(request.query.error) })
      },
    },
    submit: {
      config: { limit: 'register' },
      summary: 'accept an invitation with a password',
      description:
        'Creates the account with a verified address, and signs the browser in. An invitation works once. An invalid form is shown again with 422.',
      response: { 403: pageAnswers.refused },
      next: 'To the start page.',
      form: FormBody,
      async send(request, reply) {
        const { token } = request.params
        const invitation = await findInvitation(app, token, app.clock.now())
        if (!invitation) return invalid(reply)
        try {
          return (await accept(request, reply, invitation)) ? redirectOn(reply, null) : invalid(reply)
        } catch (error) {
          if (error instanceof Taken) return taken(reply, invitation)
          if (!(error instanceof HttpError) || !error.errors) throw error
          const state = { errors: error.errors, status: error.statusCode }
          return page(reply, { token, invitation }, { form: request.body }, state)
        }
      },
    },
  })

  /** Creates the account and signs the browser in; false if the invitation is not valid any more. */
  async function accept(
    request: FastifyRequest<{ Body: Form; Params: Static<typeof Params> }>,
    reply: FastifyReply,
    { email }: Invitation,
  ): Promise<boolean> {
    const { token } = request.params
    const { name, password } = checked(request, request.body)
    const account = invitedAccount({ name, email, method: 'password' })
    await app.decisions.registration(visitOf(request), account)
    const hash = await app.hashing.hash(password, app.loginLimiter.laneOf(visitOf(request), email))
    const user = await app.database.transaction(async (tx) => {
      const accepted = await acceptInvitation(app, tx, eventContext(request), { token, name, password: hash })
      if (accepted === 'taken') throw new Taken()
      return accepted === 'invalid' ? null : accepted
    })
    if (!user) return false
    const login = { user, password: hash, remember: false, channel: 'invitation', isNewAccount: true } as const
    await continueSignIn(request, reply, login)
    return true
  }
}

/** Throws 422 with the errors of each field. */
function checked(request: FastifyRequest, form: Form): Static<typeof Rules> {
  const body = { ...form, password_confirmation: form.password }
  const result: unknown = request.compileValidationSchema(Rules)(body)
  if (typeof result === 'object' && result !== null && 'error' in result) throw result.error
  return body as Static<typeof Rules>
}

export default invitations
