import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { canonicalEmail } from '../../identity/user.ts'
import { addAccountPages, ownAccount, sectionPath } from '../../pages/account/account-pages.ts'
import { formOf, formPage, fresh, pageRoute, sectionAnswers } from '../../pages/form-page.ts'
import { startPage } from '../../pages/links.ts'
import { pageAnswers } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import { typedText } from '../../platform/http/fields.ts'
import { deleteAccount } from './changes.ts'

const path = sectionPath('data')
const deletePath = `${path}/delete`

/** The section with the user's data, and the page that deletes the account. */
const dataPages: FastifyPluginAsync = async (app) => {
  await addAccountPages(app, 'data')

  pageRoute(app, {
    path,
    operation: 'Data',
    config: ownAccount,
    summary: 'your data',
    description: 'Leads to the export of the data and the deletion of the account.',
    page: (_request, reply) => reply.page('account-data', { exportHref: `${path}/export`, deleteHref: deletePath }),
  })

  const deletePage = (reply: FastifyReply, email: string, { errors, status } = fresh) =>
    reply.page('account-delete', { action: deletePath, email, errors, backHref: path }, status)

  formPage(app, {
    path: deletePath,
    operation: 'AccountDeletion',
    config: { ...ownAccount, recentPassword: () => true },
    show: {
      summary: 'delete the account',
      description: 'Asks for the password first.',
      page: (request, reply) => deletePage(reply, requireUser(request).email),
    },
    submit: {
      summary: 'delete the account and all its data',
      description: 'Like `DELETE /user`, after the user typed the address of the account.',
      response: { 200: pageAnswers.page, 303: sectionAnswers[303] },
      form: formOf('DeleteAccountForm', {
        email: 'The email address of the account, to prevent accidental deletion.',
      }),
      async send(request, reply) {
        const words = textsOf(request)
        const { email } = requireUser(request)
        if (canonicalEmail(typedText(request.body.email)) !== email) {
          return deletePage(reply, email, { errors: { email: [words('account-delete.mismatch')] }, status: 422 })
        }
        await deleteAccount(request, reply)
        delete reply.menu
        return reply.page('message', {
          title: words('account-delete.done_title'),
          message: words('account-delete.done'),
          link: { href: startPage(app.config.current()), label: words('error.home') },
        })
      },
    },
  })
}

export default dataPages
