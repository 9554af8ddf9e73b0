import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import {
  addAccountPages,
  ownAccount,
  sectionAnswers,
  sectionPath,
  submitForm,
} from '../../pages/account/account-pages.ts'
import { resendPage } from '../../pages/links.ts'
import type { FieldErrors } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { checkBody } from '../../platform/http/check-body.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'
import { changeProfile, ProfileBody } from './changes.ts'

const path = sectionPath('profile')
const emailPath = `${path}/email`

const NameForm = Type.Object(
  { name: uncheckedText('The full name.') },
  { title: 'ProfileForm', additionalProperties: false },
)

const EmailForm = Type.Object(
  { email: uncheckedText('The new email address.') },
  { title: 'EmailForm', additionalProperties: false },
)

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The section with name and email address. */
const profilePages: FastifyPluginAsyncTypebox = async (app) => {
  await addAccountPages(app, 'profile')

  function page(request: FastifyRequest, reply: FastifyReply, typed?: unknown, errors: FieldErrors = {}, status = 200) {
    const user = requireUser(request)
    return reply.page(
      'account-profile',
      {
        action: path,
        name: typed === undefined ? user.name : text(typed),
        email: user.email,
        pendingEmail: user.pending_email ?? null,
        isVerified: user.email_verified_at !== null,
        emailHref: emailPath,
        verifyHref: resendPage,
        errors,
      },
      status,
    )
  }

  app.get(
    path,
    {
      config: ownAccount,
      schema: {
        operationId: 'showProfile',
        tags: ['Account pages'],
        summary: 'Page: name and email address',
        description: 'The profile of the signed-in user.',
        response: sectionAnswers,
      },
    },
    async (request, reply) => page(request, reply),
  )

  app.post(
    path,
    {
      config: ownAccount,
      schema: {
        operationId: 'submitProfile',
        tags: ['Account pages'],
        summary: 'Form: change the name',
        description: 'Like `PUT /user/profile-information` with the current address.',
        consumes: [formType],
        body: NameForm,
        response: { 303: Type.Null({ description: 'Back to the page.' }) },
      },
    },
    (request, reply) =>
      submitForm(reply, path, {
        change: async () => {
          const { email } = requireUser(request)
          await changeProfile(request, reply, checkBody(request, ProfileBody, { name: request.body.name, email }))
          return 'saved'
        },
        show: (errors, status) => page(request, reply, request.body.name, errors, status),
      }),
  )

  const emailPage = (reply: FastifyReply, typed: unknown = '', errors: FieldErrors = {}, status = 200) =>
    reply.page('account-email', { action: emailPath, email: text(typed), errors, backHref: path }, status)

  app.get(
    emailPath,
    {
      config: { ...ownAccount, recentPassword: () => true },
      schema: {
        operationId: 'showEmailChange',
        tags: ['Account pages'],
        summary: 'Page: change the email address',
        description: 'Asks for the password first.',
        response: sectionAnswers,
      },
    },
    async (_request, reply) => emailPage(reply),
  )

  app.post(
    emailPath,
    {
      config: { ...ownAccount, recentPassword: () => true, alsoAnswers: [404, 429] },
      schema: {
        operationId: 'submitEmailChange',
        tags: ['Account pages'],
        summary: 'Form: change the email address',
        description: 'Like `PUT /user/profile-information` with the current name. svc mails a link to the new address.',
        consumes: [formType],
        body: EmailForm,
        response: { 303: Type.Null({ description: 'To the profile.' }) },
      },
    },
    (request, reply) =>
      submitForm(reply, path, {
        change: async () => {
          const { name } = requireUser(request)
          await changeProfile(request, reply, checkBody(request, ProfileBody, { name, email: request.body.email }))
          return 'email_requested'
        },
        show: (errors, status) => emailPage(reply, request.body.email, errors, status),
      }),
  )
}

export default profilePages
