import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requireUser } from '../../../auth/access/caller.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import { Type } from '../../../platform/json-schema.ts'
import { agentsOf, allowAgent, endAgent } from './delegations.ts'
import { Agent, AgentParams } from './schemas.ts'

const config = { access: { family: 'session', caller: 'required' } } as const
const one = { ...config, alsoAnswers: [404] }
const tags = ['Authorized applications']
const gone = Type.Null({ description: 'Done, or already so.' })

/** The agents that act for the signed-in user. */
const agents: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/oauth/agents',
    {
      config,
      schema: {
        operationId: 'listAgents',
        tags,
        summary: 'List the agents that act for you',
        description: 'Clients with `may_act_for` that exchanged a token of the user, those used last first.',
        response: { 200: Type.Array(Agent) },
      },
    },
    (request) => agentsOf(app, app.oauth.registry(), requireUser(request).id),
  )

  app.delete(
    '/oauth/agents/:client_id',
    {
      config: one,
      schema: {
        operationId: 'endAgent',
        tags,
        summary: 'End an agent',
        description:
          'The tokens with which it acts for the user, and those derived from them, stop working where svc is asked. APIs that verify tokens themselves accept them until they expire. The agent gets no new ones.',
        params: AgentParams,
        response: { 204: gone },
      },
    },
    async (request, reply) => {
      await endAgent(visitOf(request), request.params.client_id)
      return reply.code(204).send(null)
    },
  )

  app.put(
    '/oauth/agents/:client_id',
    {
      config: one,
      schema: {
        operationId: 'allowAgent',
        tags,
        summary: 'Let an agent that you ended act again',
        description: 'Its earlier tokens stay invalid.',
        params: AgentParams,
        response: { 204: gone },
      },
    },
    async (request, reply) => {
      await allowAgent(visitOf(request), request.params.client_id)
      return reply.code(204).send(null)
    },
  )
}

export default agents
