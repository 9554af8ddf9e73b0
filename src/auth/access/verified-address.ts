import type { FastifyReply, FastifyRequest } from 'fastify'
import type { User } from '../../identity/user.ts'
import type { Config } from '../../platform/config/schema.ts'
import { emailUnverified } from '../../platform/errors.ts'
import type { Step } from '../../platform/http/step.ts'
import { accessOf, requiresCaller } from './route-access.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `allowed` lets users with an unverified address pass, despite `registration.require_verified_email`. */
    unverified?: 'allowed'
  }
}

/** Whether `registration.require_verified_email` refuses a user until they verify their address. */
export const mustVerifyAddress = (
  { registration }: Pick<Config, 'registration'>,
  user: User | null | undefined,
): boolean => registration.require_verified_email && user?.email_verified_at === null

function requireVerified(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const isRefused = mustVerifyAddress(request.server.config.current(), request.caller?.user)
  done(isRefused ? emailUnverified() : undefined)
}

/** Requires a verified address where `registration.require_verified_email` is set. */
export const verifiedAddress: Step = {
  name: 'verified address',
  phase: 'preValidation',
  answers: [403],
  hooksFor: (route) => (requiresCaller(accessOf(route)) && !route.config?.unverified ? [requireVerified] : null),
}
