import type { FastifyReply, FastifyRequest } from 'fastify'
import type { User } from '../../identity/user.ts'
import type { Config } from '../../platform/config/schema.ts'
import { adminScope } from '../../platform/config/sections/admin.ts'
import { forbidden } from '../../platform/errors.ts'
import type { Step } from '../../platform/http/step.ts'
import { type Caller, callerOf } from './caller.ts'
import { accessOf } from './route-access.ts'

/** Tests whether the user has a role of `admin.roles`. */
export const hasAdminRole = ({ role }: Pick<User, 'role'>, { admin }: Config): boolean => admin.roles.includes(role)

/**
 * Tests whether the caller may use the admin API or SCIM: an administrator's session, an administrator's API token that names
 * the scope, or a client's own token while the configuration gives the client this scope. Tokens that clients hold for
 * users never may.
 */
function isAdministrator(caller: Caller, config: Config, scope: string): boolean {
  if (caller.kind === 'session') return hasAdminRole(caller.user, config) && caller.actor === undefined
  if (!caller.abilities.includes(scope)) return false
  if (caller.kind === 'api_token') return caller.user !== null && hasAdminRole(caller.user, config)
  if (caller.kind !== 'machine') return false
  const client = config.clients.find(({ client_id }) => client_id === caller.clientId)
  return client?.scopes.includes(scope) ?? false
}

/** Requires an administrator on routes that declare one. */
export const administrators: Step = {
  name: 'administrators',
  phase: 'onRequest',
  answers: [403],
  hooksFor: (route) => {
    const access = accessOf(route)
    if (!('administrator' in access)) return null
    const { scope = adminScope } = access
    return [
      (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
        done(isAdministrator(callerOf(request), request.server.config.current(), scope) ? undefined : forbidden())
      },
    ]
  },
}
