import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { addAccountPages, done, ownAccount, sectionPath } from '../../pages/account/account-pages.ts'
import { fieldInForm, fieldsOfForm, userFormFields } from '../../pages/form-fields.ts'
import { formOf, formPage, fresh } from '../../pages/form-page.ts'
import { resendPage } from '../../pages/links.ts'
import { textsOf } from '../../pages/texts.ts'
import { checkBody } from '../../platform/http/check-body.ts'
import { typedText } from '../../platform/http/fields.ts'
import { languageOf } from '../../platform/http/language.ts'
import type { Static } from '../../platform/json-schema.ts'
import { changeProfile, ProfileBody } from './changes.ts'

const path = sectionPath('profile')
const emailPath = `${path}/email`

const ProfileForm = formOf(
  'ProfileForm',
  {
    name: 'The full name.',
    username: 'The username, where users can change it.',
    given_name: 'The given name, where users enter it.',
    family_name: 'The family name, where users enter it.',
  },
  { pattern: fieldInForm },
)

type Form = Static<typeof ProfileForm>

/** The section with name and email address. */
const profilePages: FastifyPluginAsync = async (app) => {
  await addAccountPages(app, 'profile')

  const page = (request: FastifyRequest, reply: FastifyReply, typed?: Form, { errors, status } = fresh) => {
    const user = requireUser(request)
    const config = app.config.current()
    const { enabled, editable } = config.users.username
    return reply.page(
      'account-profile',
      {
        action: path,
        name: typed === undefined ? user.name : typedText(typed.name),
        fields: userFormFields({
          config,
          language: languageOf(request),
          text: textsOf(request),
          values: { ...(typed ?? user) },
          isSent: typed !== undefined,
          stored: user.fields ?? {},
          asked: 'profile',
          asksUsername: editable,
        }),
        username: enabled && !editable ? user.username : null,
        email: user.email,
        pendingEmail: user.pending_email ?? null,
        isVerified: user.email_verified_at !== null,
        emailHref: emailPath,
        verifyHref: resendPage,
        groups: user.groups.map((name) => ({ name, description: config.groups.names[name] ?? null })),
        errors,
      },
      status,
    )
  }

  formPage(app, {
    path,
    operation: 'Profile',
    config: ownAccount,
    show: {
      summary: 'name and email address',
      description: 'The profile of the signed-in user.',
      page,
    },
    submit: {
      summary: 'change the names',
      description: 'Like `PUT /user/profile-information` with the current address.',
      next: 'Back to the page.',
      form: ProfileForm,
      async send(request, reply) {
        const { email } = requireUser(request)
        const fields = fieldsOfForm(app.config.current(), request.body, 'profile')
        await changeProfile(request, reply, checkBody(request, ProfileBody, { ...request.body, email, fields }))
        return done(path, 'saved')
      },
      again: (request, reply, state) => page(request, reply, request.body, state),
    },
  })

  const emailPage = (reply: FastifyReply, typed: unknown = '', { errors, status } = fresh) =>
    reply.page('account-email', { action: emailPath, email: typedText(typed), errors, backHref: path }, status)

  formPage(app, {
    path: emailPath,
    operation: 'EmailChange',
    config: { ...ownAccount, recentPassword: () => true },
    show: {
      summary: 'change the email address',
      description: 'Asks for the password first.',
      page: (_request, reply) => emailPage(reply),
    },
    submit: {
      config: { alsoAnswers: [404, 429] },
      summary: 'change the email address',
      description: 'Like `PUT /user/profile-information` with the current name. svc mails a link to the new address.',
      next: 'To the profile.',
      form: formOf('EmailForm', { email: 'The new email address.' }),
      async send(request, reply) {
        const { name } = requireUser(request)
        await changeProfile(request, reply, checkBody(request, ProfileBody, { name, email: request.body.email }))
        return done(path, 'email_requested')
      },
      again: (request, reply, state) => emailPage(reply, request.body.email, state),
    },
  })
}

export default profilePages
