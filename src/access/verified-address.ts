import type { FastifyReply, FastifyRequest } from 'fastify'
import { emailUnverified } from '../errors.ts'
import type { Step } from '../http/step.ts'
import { accessOf, isGuarded } from './route-access.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `allowed` lets users with an unverified address pass, despite `registration.require_verified_email`. */
    unverified?: 'allowed'
  }
}

function requireVerified(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const { user } = request.caller ?? {}
  const { require_verified_email } = request.server.config.current().registration
  done(require_verified_email && user?.email_verified_at === null ? emailUnverified() : undefined)
}

/** Requires a verified address where `registration.require_verified_email` is set. */
export const verifiedAddress: Step = {
  name: 'verified address',
  phase: 'preValidation',
  answers: [403],
  hooksFor: (route) => (isGuarded(accessOf(route)) && !route.config?.unverified ? [requireVerified] : null),
}
