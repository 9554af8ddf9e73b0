import type { FastifyRequest } from 'fastify'
import type { Config } from '../../platform/config/schema.ts'
import { passwordConfirmationRequired } from '../../platform/errors.ts'
import type { Step } from '../../platform/http/step.ts'
import { accessOf } from '../access/route-access.ts'
import { type Visit, visitOf } from '../access/visit.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route requires a password confirmation within `passwords.confirm_timeout`; otherwise 423. */
    recentPassword?: (config: Config) => boolean
  }
  interface Session {
    /** Time of the last confirmation, in Unix milliseconds. */
    passwordConfirmedAt?: number
  }
}

/** Returns the age of the last confirmation, or of a sign-in that counts as one, in milliseconds; null for none. */
export function confirmationAge({ session, app }: Pick<Visit, 'app' | 'session'>): number | null {
  const { passwordConfirmedAt, proof } = session ?? {}
  const { confirmed_by_sign_in } = app.config.current().session
  const ageOf = (at: number) => Math.max(0, app.clock.now() - at)
  // Later proofs add their methods and keep the time of the sign-in, so it is never too recent.
  const isFresh =
    proof?.methods.some((method) => ['pwd', 'pop'].includes(method)) &&
    !proof.trusted &&
    ageOf(proof.at) < confirmed_by_sign_in
  const times = [passwordConfirmedAt, isFresh ? proof?.at : undefined].filter((at) => at !== undefined)
  return times.length === 0 ? null : ageOf(Math.max(...times))
}

/** Throws 423 without a confirmation within `passwords.confirm_timeout`. */
export function requireRecentPassword(visit: Visit): void {
  const age = confirmationAge(visit)
  const { confirm_timeout } = visit.app.config.current().passwords
  if (age === null || age > confirm_timeout) throw passwordConfirmationRequired()
}

/** Stores the time of a confirmation in the session's row. */
export async function markConfirmed({ app, session }: Visit): Promise<void> {
  session.passwordConfirmedAt = app.clock.now()
  await session.save()
}

/** Requires a recent confirmation of sessions that make changes as an administrator. Tokens cannot confirm. */
export const recentAdministrator: Step = {
  name: 'recent administrator',
  phase: 'preValidation',
  answers: [423],
  hooksFor: (route) => {
    const access = accessOf(route)
    if (!('administrator' in access) || access.administrator === 'reads') return null
    const check = async (request: FastifyRequest) => {
      if (request.caller?.kind === 'session') requireRecentPassword(visitOf(request))
    }
    return [check]
  },
}

/** Requires a recent confirmation on routes that declare `recentPassword`. */
export const recentPassword: Step = {
  name: 'recent password',
  phase: 'preValidation',
  answers: [423],
  hooksFor: ({ config }) => {
    const isRequired = config?.recentPassword
    if (!isRequired) return null
    const check = async (request: FastifyRequest) => {
      if (isRequired(request.server.config.current())) requireRecentPassword(visitOf(request))
    }
    return [check]
  },
}
