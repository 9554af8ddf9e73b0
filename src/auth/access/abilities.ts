import type { FastifyReply, FastifyRequest } from 'fastify'
import { isManagementScope } from '../../platform/config/sections/admin.ts'
import { forbidden, invalidAbility } from '../../platform/errors.ts'
import type { Step } from '../../platform/http/step.ts'
import { type Caller, callerOf } from './caller.ts'
import { type AbilityRule, accessOf } from './route-access.ts'

/**
 * Tests whether a list grants an ability: by `*` or by the exact string. There are no patterns. `*` excludes the
 * management scopes, such as `svc:admin`.
 */
export const grants = (abilities: readonly string[], ability: string): boolean =>
  abilities.includes(ability) || (!isManagementScope(ability) && abilities.includes('*'))

/** Parses the abilities of a token row. An unreadable list grants nothing. */
export function storedAbilities(text: string | null): string[] {
  try {
    const list: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(list) ? list.filter((ability) => typeof ability === 'string') : []
  } catch {
    return []
  }
}

/** Throws 403 `Invalid ability provided.` unless the caller satisfies the rule. */
export function requireAbilities(caller: Caller, rule: AbilityRule): void {
  const satisfied = 'all' in rule ? rule.all.every((a) => caller.can(a)) : rule.any.some((a) => caller.can(a))
  if (!satisfied) throw invalidAbility()
  if ('all' in rule) requireSignIn(caller, rule.all, 'all')
  else
    requireSignIn(
      caller,
      rule.any.filter((a) => caller.can(a)),
      'any',
    )
}

/** Tests whether the sign-in of a token's user suffices for an ability (`guard.step_up`). */
export const hasSignInFor = (caller: Caller, ability: string): boolean =>
  caller.kind === 'session' || !caller.signInRefusal?.(ability)

/** Throws 401 unless the token's sign-in suffices for these abilities (`guard.step_up`). */
function requireSignIn(caller: Caller, names: readonly string[], mode: 'all' | 'any'): void {
  if (caller.kind === 'session') return
  const refusals = names.flatMap((name) => caller.signInRefusal?.(name) ?? [])
  const [first] = refusals
  if (first && (mode === 'all' || refusals.length === names.length)) throw first
}

/** Throws 403 `Forbidden` unless the caller has the ability. For checks inside handlers. */
export function requireAbility(caller: Caller, ability: string): void {
  if (caller.cant(ability)) throw forbidden()
  requireSignIn(caller, [ability], 'all')
}

/** Requires the abilities that a route declares with its access. */
export const abilities: Step = {
  name: 'abilities',
  phase: 'onRequest',
  answers: [403],
  hooksFor: (route) => {
    const access = accessOf(route)
    if (access.family !== 'hybrid' || !('abilities' in access) || !access.abilities) return null
    const rule = access.abilities
    return [
      (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
        requireAbilities(callerOf(request), rule)
        done()
      },
    ]
  },
}
