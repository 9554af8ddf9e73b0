import type { FastifyPluginAsync } from 'fastify'
import { requireUser } from '../../../auth/access/caller.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import { addAccountPages, done, sectionPath, verifiedAccount } from '../../../pages/account/account-pages.ts'
import { ListQuery, listPage } from '../../../pages/account/list-page.ts'
import { formRoute, pageRoute } from '../../../pages/form-page.ts'
import { languageOf } from '../../../platform/http/language.ts'
import { describeScope, inPageOrder } from '../clients/scopes.ts'
import { agentsOf, allowAgent, endAgent } from '../delegation/delegations.ts'
import { AgentParams } from '../delegation/schemas.ts'
import { connectedApplications, disconnect } from './authorizations.ts'
import { AuthorizationParams } from './schemas.ts'

const path = sectionPath('applications')

const agentPath = (clientId: string): string => `${path}/agents/${encodeURIComponent(clientId)}`

const agentForms = [
  ['end', endAgent, 'agent_ended'],
  ['allow', allowAgent, 'agent_allowed'],
] as const

/** The section with the connected applications. */
const applicationPages: FastifyPluginAsync = async (app) => {
  const oauthServer = app.oauth
  await addAccountPages(app, 'applications')

  pageRoute(app, {
    path,
    operation: 'Applications',
    config: verifiedAccount,
    query: ListQuery,
    summary: 'connected applications',
    description: 'Like `GET /oauth/tokens`, with descriptions of the scopes.',
    async page(request, reply) {
      const config = app.config.current()
      const connected = await connectedApplications(app, oauthServer, requireUser(request).id)
      const { entries, nextHref } = listPage(path, connected, request.query.after)
      const language = languageOf(request)
      const applications = entries.map(({ id, client, permissions, created_at, expires_at }) => ({
        action: `${path}/${id}/disconnect`,
        name: client.name,
        claim: client.claimed_name,
        scopes: inPageOrder(config, permissions).map((name) => describeScope(config, name, language)),
        createdAt: created_at,
        expiresAt: expires_at,
      }))
      const agents = (await agentsOf(app, oauthServer.registry(), requireUser(request).id)).map(
        ({ client, scopes, last_used_at, ended_at }) => ({
          action: `${agentPath(client.id)}/${ended_at === null ? 'end' : 'allow'}`,
          name: client.name,
          scopes: inPageOrder(config, scopes).map((name) => describeScope(config, name, language)),
          usedAt: last_used_at,
          endedAt: ended_at,
        }),
      )
      return reply.page('account-applications', { applications, agents, nextHref })
    },
  })

  formRoute(app, {
    path: `${path}/:id/disconnect`,
    operation: 'Disconnect',
    config: verifiedAccount,
    params: AuthorizationParams,
    summary: 'disconnect an application',
    description: 'Like `DELETE /oauth/tokens/{id}`. 404 for authorizations of other users.',
    next: 'Back to the page.',
    async send(request) {
      await disconnect(visitOf(request), oauthServer, request.params.id)
      return done(path, 'disconnected')
    },
  })

  for (const [step, change, done_] of agentForms) {
    formRoute(app, {
      path: `${path}/agents/:client_id/${step}`,
      operation: step === 'end' ? 'EndAgent' : 'AllowAgent',
      config: verifiedAccount,
      params: AgentParams,
      summary: step === 'end' ? 'end an agent' : 'allow an agent again',
      description: `Like \`${step === 'end' ? 'DELETE' : 'PUT'} /oauth/agents/{client_id}\`.`,
      next: 'Back to the page.',
      async send(request) {
        await change(visitOf(request), request.params.client_id)
        return done(path, done_)
      },
    })
  }
}

export default applicationPages
