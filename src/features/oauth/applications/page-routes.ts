import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requireUser } from '../../../auth/access/caller.ts'
import { addAccountPages, sectionAnswers, sectionPath, verifiedAccount } from '../../../pages/account/account-pages.ts'
import { ListQuery, listPage } from '../../../pages/account/list-page.ts'
import { languageOf } from '../../../platform/http/language.ts'
import { Type } from '../../../platform/json-schema.ts'
import { describeScope, inPageOrder } from '../clients/scopes.ts'
import { connectedApplications, disconnect } from './authorizations.ts'
import { AuthorizationParams } from './schemas.ts'

const path = sectionPath('applications')

/** The section with the connected applications. */
const applicationPages: FastifyPluginAsyncTypebox = async (app) => {
  const oauthServer = app.oauth
  await addAccountPages(app, 'applications')

  app.get(
    path,
    {
      config: verifiedAccount,
      schema: {
        operationId: 'showApplications',
        tags: ['Account pages'],
        summary: 'Page: connected applications',
        description: 'Like `GET /oauth/tokens`, with descriptions of the scopes.',
        querystring: ListQuery,
        response: sectionAnswers,
      },
    },
    async (request, reply) => {
      const config = app.config.current()
      const connected = await connectedApplications(app, oauthServer, requireUser(request).id)
      const { entries, nextHref } = listPage(path, connected, request.query.after)
      const language = languageOf(request)
      const applications = entries.map(({ id, client, permissions, created_at, expires_at }) => ({
        action: `${path}/${id}/disconnect`,
        name: client.name,
        scopes: inPageOrder(config, permissions).map((name) => describeScope(config, name, language)),
        createdAt: created_at,
        expiresAt: expires_at,
      }))
      return reply.page('account-applications', { applications, nextHref })
    },
  )

  app.post(
    `${path}/:id/disconnect`,
    {
      config: verifiedAccount,
      schema: {
        operationId: 'submitDisconnect',
        tags: ['Account pages'],
        summary: 'Form: disconnect an application',
        description: 'Like `DELETE /oauth/tokens/{id}`. 404 for authorizations of other users.',
        params: AuthorizationParams,
        response: { 303: Type.Null({ description: 'Back to the page.' }) },
      },
    },
    async (request, reply) => {
      await disconnect(request, oauthServer, request.params.id)
      return reply.redirect(`${path}?done=disconnected`, 303)
    },
  )
}

export default applicationPages
