import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.ts'
import { passwordConfirmationRequired } from '../errors.ts'
import type { Step } from '../http/step.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route asks for a password confirmed within `passwords.confirm_timeout`; else it answers 423. */
    recentPassword?: (config: Config) => boolean
  }
  interface Session {
    /** When this session's user last confirmed the password or a passkey, in unix milliseconds. */
    passwordConfirmedAt?: number
  }
}

/** How long ago the session's user confirmed who they are, in milliseconds; null for never. */
export function confirmationAge(request: FastifyRequest): number | null {
  const at = request.session?.passwordConfirmedAt
  return at === undefined ? null : Math.max(0, request.server.clock.now() - at)
}

/** Throws 423 unless the session's user confirmed who they are within `passwords.confirm_timeout`. */
export function requireRecentPassword(request: FastifyRequest): void {
  const age = confirmationAge(request)
  const { confirm_timeout } = request.server.config.current().passwords
  if (age === null || age > confirm_timeout) throw passwordConfirmationRequired()
}

/** Notes in the session's row that its user has just confirmed who they are. */
export async function markConfirmed(request: FastifyRequest): Promise<void> {
  request.session.passwordConfirmedAt = request.server.clock.now()
  await request.session.save()
}

/** Requires a recent confirmation on the routes that declare `recentPassword`. */
export const recentPassword: Step = {
  name: 'recent password',
  phase: 'preValidation',
  answers: [423],
  hooksFor: ({ config }) => {
    const isRequired = config?.recentPassword
    if (!isRequired) return null
    const check = async (request: FastifyRequest) => {
      if (isRequired(request.server.config.current())) requireRecentPassword(request)
    }
    return [check]
  },
}
