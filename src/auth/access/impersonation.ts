import type { FastifyReply, FastifyRequest } from 'fastify'
import type { User } from '../../identity/user.ts'
import { findUserById } from '../../identity/users.ts'
import type { Config } from '../../platform/config/schema.ts'
import type { Database } from '../../platform/database/database.ts'
import { HttpError } from '../../platform/errors.ts'
import { methodsOf, type Step } from '../../platform/http/step.ts'
import { hasAdminRole } from './administrators.ts'
import type { Impersonation } from './caller.ts'
import { isSafeMethod } from './cross-site.ts'
import { accessOf, requiresCaller } from './route-access.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A change that an administrator may make who acts as the user of the session. */
    impersonated?: 'allowed'
  }
  interface Session {
    /** Who acts as the user of the session. */
    impersonation?: Impersonation
  }
}

declare module '../../platform/errors.ts' {
  interface ErrorCodes {
    impersonated: true
  }
}

const refusal = 'An administrator acts as this user, and cannot change the account. End that first.'

/** Tests whether an administrator may act as a user, who must not be an administrator too. */
export const mayImpersonate = (administrator: User, user: User, config: Config): boolean =>
  config.admin.impersonation.roles.includes(administrator.role) &&
  hasAdminRole(administrator, config) &&
  !administrator.disabled &&
  !hasAdminRole(user, config) &&
  !user.disabled

/** Tests whether the administrator of a session may still act as its user. */
export async function isStillAllowed(
  database: Database,
  { by, until }: Impersonation,
  { user, now, config }: { user: User | null; now: number; config: Config },
): Promise<boolean> {
  if (!user || now >= until) return false
  const administrator = await findUserById(database, by)
  return administrator !== null && mayImpersonate(administrator.user, user, config)
}

/**
 * Lets an administrator who acts as a user only look: no change at svc itself, and nothing that requires a confirmation, such
 * as secrets. Other services learn who acts from the guard.
 */
export const impersonation: Step = {
  name: 'impersonation',
  phase: 'preValidation',
  answers: [403],
  hooksFor: (route) => {
    const { config = {} } = route
    const isRead = methodsOf(route).every(isSafeMethod) && config.recentPassword === undefined
    if (isRead || config.impersonated === 'allowed' || !requiresCaller(accessOf(route))) return null
    return [
      ({ caller }: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
        const isActor = caller?.kind === 'session' && caller.actor !== undefined
        done(isActor ? new HttpError(403, 'impersonated', refusal) : undefined)
      },
    ]
  },
}
