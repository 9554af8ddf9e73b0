import type { FastifyInstance } from 'fastify'
import { deriveCipher } from '../../platform/crypto/keys.ts'
import type { FlowParts } from './flow.ts'
import { Connections } from './providers/connections.ts'

declare module 'fastify' {
  interface FastifyInstance {
    social: FlowParts
  }
}

/** Adds what sign-ins through identity providers share: connections, and the cipher of the tokens that svc stores. */
export function addSocialSignIn(app: FastifyInstance): void {
  const tokenCipher = deriveCipher(app.config.current().app.secret, 'social-tokens')
  app.decorate('social', { connections: new Connections(app), tokenCipher })
}
