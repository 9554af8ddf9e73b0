import { grants } from '../../auth/access/abilities.ts'
import { hasAdminRole } from '../../auth/access/administrators.ts'
import { SessionCaller, type TokenCaller, type TokenSignIn } from '../../auth/access/caller.ts'
import type { User } from '../../identity/user.ts'
import type { Config } from '../../platform/config/schema.ts'
import { isManagementScope } from '../../platform/config/sections/admin.ts'
import { HttpError, unauthenticated } from '../../platform/errors.ts'
import { type Authenticated, admit, apiOf } from './decision.ts'
import type { OriginalRequest } from './original-request.ts'
import { allowed, type CallerFacts, credentialsKey, type GuardFacts, verdictOf } from './recorded-decision.ts'
import { type Rule, ruleFor } from './rules.ts'
import { mayUseSession } from './session-use.ts'

/** A decision under another configuration. */
export interface Decided {
  /** Status and error code. Null if it depends on a credential that svc did not look at. */
  verdict: string | null
  rule: Rule | null
}

/** What else decides about tokens. */
export interface TokenChecks {
  isRegistered(clientId: string): boolean
  signInRefusal(signIn: TokenSignIn, ability: string, now: number): HttpError | null
}

/** The decision depends on what svc does not know. */
class Unknown extends Error {}

/** Decides about a recorded request as the guard would, if the configuration had been this one at that time. */
export async function decideAgain(
  facts: GuardFacts,
  config: Config,
  checks: TokenChecks,
  at: number,
): Promise<Decided> {
  const original: OriginalRequest = { ...facts, query: new URLSearchParams(), url: facts.origin + facts.path }
  let rule: Rule | null = null
  try {
    rule = ruleFor(original, () => facts.address, config.guard.rules, facts.rule)
    const access = rule?.access ?? config.guard.default
    await admit({ rule, access, config }, async () => authenticated(facts, original, { config, rule, checks, at }), at)
    return { verdict: allowed, rule }
  } catch (error) {
    if (error instanceof Unknown) return { verdict: null, rule }
    if (!(error instanceof HttpError)) throw error
    return { verdict: verdictOf(error), rule }
  }
}

interface Again {
  config: Config
  rule: Rule | null
  checks: TokenChecks
  at: number
}

function authenticated(
  facts: GuardFacts,
  original: OriginalRequest,
  { config, rule, checks, at }: Again,
): Authenticated {
  const { caller, hasCredential, isAuthenticated, headers } = facts
  if (!caller) {
    if (!hasCredential) throw unauthenticated()
    if (!isAuthenticated || credentialsKey(config, rule) !== facts.credentials) throw new Unknown()
    throw refusalOf(facts)
  }
  const { kind, proof, clientId, signIn } = caller
  if (kind === 'session') {
    const mayBeSession = rule?.credentials?.includes('session') ?? true
    if (!mayBeSession || !mayUseSession(original, headers, config)) throw unauthenticated()
    const confirmationAge = proof?.confirmedAt == null ? null : at - proof.confirmedAt
    const bindingId = caller.isBound ? 'recorded' : null
    const session = new SessionCaller({ id: null, publicId: '', bindingId }, userOf(caller.user))
    return { caller: session, proof: { authentication: proof?.authentication, confirmationAge } }
  }
  const audiences = [config.oauth.audience, apiOf(rule, config)?.audience]
  const isAccepted = signIn === undefined || audiences.includes(signIn.aud)
  const isKnown = clientId === undefined || checks.isRegistered(clientId)
  if (!isAccepted || !isKnown) throw unauthenticated()
  const refusal = (ability: string) => (signIn && caller.user ? checks.signInRefusal(signIn, ability, at) : null)
  return { caller: tokenCaller(caller, kind, { config, signInRefusal: refusal }), proof: null }
}

/** The error with which svc answered when it looked for a caller. */
function refusalOf({ verdict }: GuardFacts): HttpError {
  const [status, code = ''] = verdict.split(' ')
  // Sound: svc recorded the code of one of its errors.
  return new HttpError(Number(status), code as HttpError['code'], '')
}

/** As much of a user as the rules look at. */
function userOf(facts: CallerFacts['user']): User {
  const { id = 0, role = '', groups = [], isVerified = false, terms = [] } = facts ?? {}
  const user: Pick<User, 'id' | 'role' | 'groups' | 'email_verified_at' | 'terms'> = {
    ...{ id, role, groups },
    email_verified_at: isVerified ? 'yes' : null,
    terms: terms.map((version) => ({ version, accepted_at: '' })),
  }
  // Sound: `admit` reads no other field.
  return user as User
}

function tokenCaller(
  facts: CallerFacts,
  kind: TokenCaller['kind'],
  { config, signInRefusal }: { config: Config; signInRefusal: (ability: string) => HttpError | null },
): TokenCaller {
  const user = facts.user && userOf(facts.user)
  // As in the check of API tokens, whose users may be administrators no longer.
  const isAdmin = kind !== 'api_token' || (user !== null && hasAdminRole(user, config))
  const abilities = isAdmin ? facts.abilities : facts.abilities.filter((name) => !isManagementScope(name))
  const can = (ability: string) => grants(abilities, ability)
  return {
    ...{ kind, abilities, can, cant: (ability: string) => !can(ability), signInRefusal, user },
    ...{ credentialId: '', name: null, expiresAt: null, profileScopes: null, isBound: facts.isBound ?? false },
    revoke: async () => undefined,
  }
}
