import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { canonicalEmail } from '../../identity/user.ts'
import { addAccountPages, ownAccount, sectionAnswers, sectionPath } from '../../pages/account/account-pages.ts'
import { startPage } from '../../pages/links.ts'
import { pageAnswers } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import type { FieldErrors } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'
import { deleteAccount } from './changes.ts'

const path = sectionPath('data')
const deletePath = `${path}/delete`

const Form = Type.Object(
  { email: uncheckedText('The email address of the account, to prevent accidental deletion.') },
  { title: 'DeleteAccountForm', additionalProperties: false },
)

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The section with the user's data, and the page that deletes the account. */
const dataPages: FastifyPluginAsyncTypebox = async (app) => {
  await addAccountPages(app, 'data')

  app.get(
    path,
    {
      config: ownAccount,
      schema: {
        operationId: 'showData',
        tags: ['Account pages'],
        summary: 'Page: your data',
        description: 'Leads to the export of the data and the deletion of the account.',
        response: sectionAnswers,
      },
    },
    async (_request, reply) => reply.page('account-data', { exportHref: `${path}/export`, deleteHref: deletePath }),
  )

  const deletePage = (reply: FastifyReply, email: string, errors: FieldErrors = {}, status = 200) =>
    reply.page('account-delete', { action: deletePath, email, errors, backHref: path }, status)

  app.get(
    deletePath,
    {
      config: { ...ownAccount, recentPassword: () => true },
      schema: {
        operationId: 'showAccountDeletion',
        tags: ['Account pages'],
        summary: 'Page: delete the account',
        description: 'Asks for the password first.',
        response: sectionAnswers,
      },
    },
    async (request, reply) => deletePage(reply, requireUser(request).email),
  )

  app.post(
    deletePath,
    {
      config: { ...ownAccount, recentPassword: () => true },
      schema: {
        operationId: 'submitAccountDeletion',
        tags: ['Account pages'],
        summary: 'Form: delete the account and all its data',
        description: 'Like `DELETE /user`, after the user typed the address of the account.',
        consumes: [formType],
        body: Form,
        response: { 200: pageAnswers.page, 303: sectionAnswers[303] },
      },
    },
    async (request, reply) => {
      const config = app.config.current()
      const words = textsOf(request)
      const { email } = requireUser(request)
      if (canonicalEmail(text(request.body.email)) !== email) {
        return deletePage(reply, email, { email: [words('account-delete.mismatch')] }, 422)
      }
      await deleteAccount(request, reply)
      delete reply.menu
      const link = { href: startPage(config), label: words('error.home') }
      return reply.page('message', {
        title: words('account-delete.done_title'),
        message: words('account-delete.done'),
        link,
      })
    },
  )
}

export default dataPages
