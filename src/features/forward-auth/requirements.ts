import { requireAbilities } from '../../auth/access/abilities.ts'
import { bindingRequired } from '../../auth/access/bound-sessions.ts'
import { type Caller, kindOf } from '../../auth/access/caller.ts'
import type { Authentication } from '../../auth/sign-in/session-listener.ts'
import { groupsOf } from '../../identity/groups.ts'
import type { Config } from '../../platform/config/schema.ts'
import {
  emailUnverified,
  forbidden,
  passwordConfirmationRequired,
  secondFactorRequired,
} from '../../platform/errors.ts'
import type { Rule } from './rules.ts'

/** When and how the user of a session authenticated. */
export interface SessionProof {
  authentication: Authentication | undefined
  /** Age of the last password confirmation in milliseconds, or null. */
  confirmationAge: number | null
}

/** Throws 403 or 423 unless the caller satisfies the rule. `now` in Unix milliseconds. */
export function checkRequirements(
  rule: Rule,
  { caller, proof, config }: { caller: Caller; proof: SessionProof | null; config: Pick<Config, 'groups' | 'session'> },
  now: number,
): void {
  const { credentials, abilities, any_ability, roles, groups, all_groups, verified } = rule
  if (credentials && !credentials.includes(kindOf(caller))) throw forbidden()
  if (roles && !roles.includes(caller.user?.role ?? '')) throw forbidden()
  if (groups || all_groups) {
    const own = new Set(caller.user ? groupsOf(caller.user, config) : [])
    if (groups && !groups.some((name) => own.has(name))) throw forbidden()
    if (all_groups && !all_groups.every((name) => own.has(name))) throw forbidden()
  }
  if (abilities) requireAbilities(caller, { all: abilities })
  if (any_ability) requireAbilities(caller, { any: any_ability })
  if (verified && !caller.user?.email_verified_at) throw caller.user ? emailUnverified() : forbidden()
  if (rule.bound && !isBound(caller, config)) throw bindingRequired()
  if (rule.second_factor && !proof?.authentication?.methods.includes('mfa')) throw secondFactorRequired()
  if (rule.confirmed_within !== null && proofAge(proof, now) > rule.confirmed_within)
    throw passwordConfirmationRequired()
}

/** Tests for a bound credential. While `session.bound` is off, svc checks no cookie of a binding, so that no session counts. */
const isBound = (caller: Caller, { session }: Pick<Config, 'session'>): boolean =>
  caller.isBound && (caller.kind !== 'session' || session.bound !== 'off')

/** Milliseconds since the user last signed in or confirmed in this session; Infinity for never. */
function proofAge(proof: SessionProof | null, now: number): number {
  const { authentication, confirmationAge } = proof ?? { confirmationAge: null }
  const counts = authentication && authentication.methods.length > 0 && !authentication.trusted
  const signedIn = counts ? [Math.max(0, now - authentication.at)] : []
  return Math.min(...signedIn, ...(confirmationAge === null ? [] : [confirmationAge]))
}
