import type { FastifyPluginAsync } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { addAccountPages, ownAccount, sectionPath, sectionsOf } from '../../pages/account/account-pages.ts'
import { pageRoute } from '../../pages/form-page.ts'
import { accountPage } from '../../pages/links.ts'
import { notFound } from '../../platform/errors.ts'
import { Type } from '../../platform/json-schema.ts'

/** The overview of the account pages, and the address where password managers look for the password. */
const account: FastifyPluginAsync = async (app) => {
  app.get(
    '/.well-known/change-password',
    {
      config: { access: { family: 'none' }, alsoAnswers: [404] },
      schema: {
        operationId: 'redirectToPassword',
        tags: ['Account pages'],
        summary: 'Redirect to the page that changes the password',
        description: 'Password managers open this address (W3C: A Well-Known URL for Changing Passwords).',
        response: { 302: Type.Null({ description: 'To the page.' }) },
      },
    },
    async (_request, reply) => {
      const config = app.config.current()
      if (!sectionsOf(app.features, config).includes('password') && config.links.account === null) throw notFound()
      return reply.redirect(sectionPath('password'), 302)
    },
  )

  await app.register(async (scope) => {
    await addAccountPages(scope, null)

    pageRoute(scope, {
      path: accountPage,
      operation: 'Account',
      config: ownAccount,
      summary: 'your account',
      description: 'Lists the sections that `account.sections` shows. Redirects to `links.account` where it is set.',
      page(request, reply) {
        const { name, email } = requireUser(request)
        return reply.page('account', { user: { name, email } })
      },
    })
  })
}

export default account
