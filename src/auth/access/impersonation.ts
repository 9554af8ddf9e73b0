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
import { passwordFingerprintMatches } from './password-fingerprint.ts'
import { accessOf, requiresCaller } from './route-access.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** An administrator who acts as the user of the session may use the route, although it is for guests or changes something. */
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

const refusal = 'An administrator acts as this user, and cannot change the account. Stop acting as the user first.'

/** Tests whether an administrator may act as a user, who must not be an administrator too. */
export const mayImpersonate = (administrator: User, user: User, config: Config): boolean =>
  config.admin.impersonation.roles.includes(administrator.role) &&
  hasAdminRole(administrator, config) &&
  !administrator.disabled &&
  !hasAdminRole(user, config) &&
  !user.disabled

/** The session that keeps the sign-in of an administrator valid while the browser has the session of the user. */
interface OwnSession {
  userId: bigint | null
  passwordFingerprint: string | null
}

/**
 * Tests whether an administrator may still act as a user: the time is not over, the administrator still has the right, and
 * the own session of the administrator was not ended, for example by a new password.
 */
export async function isStillAllowed(
  database: Database,
  { by, until }: Impersonation,
  { user, own, now, config }: { user: User | null; own: OwnSession | null; now: number; config: Config },
): Promise<boolean> {
  if (!user || now >= until || own?.userId !== BigInt(by)) return false
  const administrator = await findUserById(database, by)
  return (
    administrator !== null &&
    mayImpersonate(administrator.user, user, config) &&
    passwordFingerprintMatches(own.passwordFingerprint, administrator.password)
  )
}

/**
 * Tests whether a route for guests must treat the browser as signed out, because an administrator acts as the user of the
 * session. Such routes can change the account of a signed-in user. Those that only show the user or end the session set
 * `impersonated: 'allowed'`.
 */
export const isHidden = ({ session, routeOptions }: FastifyRequest): boolean =>
  session.impersonation !== undefined && routeOptions.config.impersonated !== 'allowed'

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
