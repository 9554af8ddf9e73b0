import type { FastifyInstance } from 'fastify'
import { oauthBearer, oauthBound } from './bearer.ts'
import { destinationOf } from './interaction/destination.ts'
import { OAuthServer } from './protocol/oauth-server.ts'

declare module 'fastify' {
  interface FastifyInstance {
    oauth: OAuthServer
  }
}

/** Adds the OAuth server, the checks of its access tokens, and where its pages lead. */
export function addOAuth(app: FastifyInstance): void {
  const server = new OAuthServer(app)
  app.decorate('oauth', server)
  app.decorate('sessionListener', server.signOut)
  app.decorate('accessTokens', { check: oauthBearer(server), checkBound: oauthBound(server) })
  app.decorate('findDestination', (request, returnTo) => destinationOf(server, request, returnTo))
}
