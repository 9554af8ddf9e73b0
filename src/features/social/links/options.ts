import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FlowRequest } from '../flow-request.ts'
import type { SocialProvider } from '../providers/provider.ts'

/** What routes need to start a flow. */
export interface LinkOptions {
  providerOf: (id: string) => SocialProvider
  /** Starts a flow and returns the URL for the browser. */
  begin: (
    request: FastifyRequest,
    reply: FastifyReply,
    provider: SocialProvider,
    flowRequest: FlowRequest,
  ) => Promise<string>
}
