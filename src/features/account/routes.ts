import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import type { User } from '../../identity/user.ts'
import { addAccountPages, ownAccount, sectionPath, sectionsOf } from '../../pages/account/account-pages.ts'
import type { AccountState } from '../../pages/account-page-data.ts'
import { pageRoute } from '../../pages/form-page.ts'
import { accountPage } from '../../pages/links.ts'
import type { PageData } from '../../pages/page-data.ts'
import { textsOf } from '../../pages/texts.ts'
import { notFound } from '../../platform/errors.ts'
import { languageOf } from '../../platform/http/language.ts'
import { Type } from '../../platform/json-schema.ts'

/** Returns the text of each section's state. */
async function statesFor(request: FastifyRequest, user: User): Promise<PageData['account']['states']> {
  const text = textsOf(request)
  const number = new Intl.NumberFormat(languageOf(request))
  const visit = visitOf(request)
  const shown = sectionsOf(request.server.features, request.server.config.current())
  const found = await Promise.all(
    request.server.features
      .filter((feature) => feature.accountPages?.(request.server.config.current()).some((name) => shown.includes(name)))
      .map(async (feature) => feature.accountStates?.(visit, user) ?? {}),
  )
  return Object.fromEntries(
    Object.entries<AccountState>(Object.assign({}, ...found))
      // A section without entries has no badge.
      .filter(([, state]) => state !== 0)
      .map(([name, state]) =>
        typeof state === 'number'
          ? [name, { text: number.format(state), isOpen: false }]
          : [name, { text: text(state.text), isOpen: state.isOpen }],
      ),
  )
}

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
      async page(request, reply) {
        const user = requireUser(request)
        return reply.page('account', { user, states: await statesFor(request, user) })
      },
    })
  })
}

export default account
