import type { FastifyRequest } from 'fastify'
import { isHeldByTerms, termsNotAccepted } from '../../auth/access/accepted-terms.ts'
import { type Caller, SessionCaller } from '../../auth/access/caller.ts'
import { checkToken } from '../../auth/access/csrf.ts'
import { mustVerifyAddress } from '../../auth/access/verified-address.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { confirmationAge } from '../../auth/sign-in/recent-password.ts'
import type { Config } from '../../platform/config/schema.ts'
import { emailUnverified, forbidden, HttpError, unauthenticated } from '../../platform/errors.ts'
import { clientAddress } from '../../platform/http/client-address.ts'
import type { OriginalRequest } from './original-request.ts'
import { checkRequirements, type SessionProof } from './requirements.ts'
import { type Rule, ruleFor } from './rules.ts'
import { isUnsafe, mayUseSession } from './session-use.ts'

export interface Question {
  original: OriginalRequest
  /** Loads `request.session`. */
  readSession: () => Promise<void>
  ruleName: string | undefined
  /** Receives null before the guard looks for the caller, and then what it found; each with the rule. */
  note?: (found: Authenticated | null, rule: Rule | null) => void
}

/** A caller, and what its session proves. */
export interface Authenticated {
  caller: Caller
  proof: SessionProof | null
}

/** The decision to let a request pass. */
export interface Verdict {
  /** Null under a public rule. */
  caller: Caller | null
  /** API that receives a token for the caller. */
  api: Config['apis'][string] | null
}

/** Throws 400 if the client sent the rule's name in its query. Some proxies append that query to the guard's URL. */
export function refuseRuleOfClient({ query }: OriginalRequest, ruleName: string | undefined): void {
  if (ruleName === undefined || !query.getAll('rule').includes(ruleName)) return
  throw new HttpError(400, 'invalid_original_request', 'The proxy must not send the query of the client to the guard.')
}

/** Decides about the request of a proxy. Throws the error of the response if the rules reject it. */
export async function decide(request: FastifyRequest, question: Question): Promise<Verdict> {
  const { original, ruleName } = question
  const { server: app } = request
  const config = app.config.current()
  const { guard } = config
  const rule = ruleFor(original, () => clientAddress(request), guard.rules, ruleName)
  const access = rule?.access ?? guard.default
  request.log.debug(
    {
      rule: rule?.name ?? null,
      line: rule?.place?.line ?? null,
      file: rule?.place?.file ?? null,
      access,
      host: original.host.name,
      path: original.path,
    },
    rule ? 'guard rule applies' : 'no guard rule matches',
  )
  const find = async () => {
    question.note?.(null, rule)
    const found = await authenticate(request, question, rule)
    question.note?.(found, rule)
    return found
  }
  const caller = await admit({ rule, access, config }, find, app.clock.now())
  return { caller, api: apiOf(rule, config) }
}

/** A rule, or `guard.default` without one. */
interface Applied {
  rule: Rule | null
  access: 'deny' | 'authenticated' | 'public'
  config: Pick<Config, 'registration' | 'groups' | 'terms' | 'session'>
}

/** Returns the caller that a rule allows; null under a public rule. Throws the error of the response otherwise. */
export async function admit(
  { rule, access, config }: Applied,
  authenticateCaller: () => Promise<Authenticated>,
  now: number,
): Promise<Caller | null> {
  if (access === 'deny') throw forbidden()
  if (access === 'public') return null
  const { caller, proof } = await authenticateCaller()
  // The same check as on svc's own routes, because anyone can register with the address of another person.
  if (mustVerifyAddress(config, caller.user)) throw emailUnverified()
  if (isHeldByTerms(config, caller)) throw termsNotAccepted()
  if (rule) checkRequirements(rule, { caller, proof, config }, now)
  return caller
}

/** Returns the API in `audience` of a rule, or null. The rule accepts tokens of that API, and the API gets tokens of svc. */
export const apiOf = (rule: Rule | null, { apis }: Config): Config['apis'][string] | null =>
  rule?.audience ? (apis[rule.audience] ?? null) : null

async function authenticate(
  request: FastifyRequest,
  { original, readSession }: Question,
  rule: Rule | null,
): Promise<Authenticated> {
  const { touches, config } = request.server
  const { headers } = request
  const mayBeSession = rule?.credentials?.includes('session') ?? true
  if (mayBeSession && headers.cookie !== undefined && mayUseSession(original, headers, config.current())) {
    await readSession()
    const row = request.session.state?.row
    if (row?.user) {
      touches.session(row.id, row.lastSeenAt)
      if (isUnsafe(original)) checkToken(request, request.presentedSessionId)
      const proof = { authentication: request.session.proof, confirmationAge: confirmationAge(visitOf(request)) }
      return { caller: new SessionCaller(row, row.user, request.session.impersonation), proof }
    }
  }
  const target = { method: original.methods[0] ?? '', url: original.url }
  const caller = await request.server.findToken(request, { audience: apiOf(rule, config.current())?.audience, target })
  if (!caller) throw unauthenticated()
  return { caller, proof: null }
}
