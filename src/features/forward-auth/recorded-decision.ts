import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Caller, TokenSignIn } from '../../auth/access/caller.ts'
import type { Authentication } from '../../auth/sign-in/session-listener.ts'
import type { Config } from '../../platform/config/schema.ts'
import { sha256Base64url } from '../../platform/crypto/hash.ts'
import { HttpError } from '../../platform/errors.ts'
import { clientAddress } from '../../platform/http/client-address.ts'
import { type Authenticated, apiOf, decide, type Question, type Verdict } from './decision.ts'
import type { OriginalRequest } from './original-request.ts'
import type { Rule } from './rules.ts'

/** What the guard knew of a caller. */
export interface CallerFacts {
  kind: Caller['kind']
  user: { id: number; role: string; groups: readonly string[]; isVerified: boolean; terms: readonly string[] } | null
  abilities: readonly string[]
  clientId?: string
  /** The claims of a JWT about its audience and its sign-in. */
  signIn?: TokenSignIn
  /** The factors of a session, and when its user confirmed the password, in Unix milliseconds. */
  /** Whether the caller proved to have the key of its credential. */
  isBound?: true
  proof?: { authentication?: Authentication; confirmedAt: number | null }
}

/** What a decision of the guard depended on besides the configuration and the time, and the verdict. */
export interface GuardFacts {
  methods: OriginalRequest['methods']
  scheme: OriginalRequest['scheme']
  host: OriginalRequest['host']
  path: string
  origin: string
  /** Address of the client. */
  address: string
  /** Rule that the proxy named. */
  rule?: string
  /** Headers by which svc decides whether a session counts, without paths and values that do not matter. */
  headers: Readonly<Record<string, string>>
  /** Whether the request came with a credential, whatever it was worth. */
  hasCredential: boolean
  /** Whether svc looked for the caller; it does not for a public path or a denied one. */
  isAuthenticated: boolean
  caller: CallerFacts | null
  /** What decides which credentials count. With another, a refused credential may be accepted. */
  credentials: string
  verdict: string
}

/** Verdict about a request that passes. */
export const allowed = '200'

/** Verdict about a request that is refused. */
export const verdictOf = (error: HttpError): string => `${error.statusCode} ${error.code}`

/** What the guard decided about a request, and how. */
interface Made {
  question: Question
  request: FastifyRequest
  /** Undefined if svc did not look for the caller, and null if there was none. */
  authenticated: Authenticated | null | undefined
  error: HttpError | null
  rule: Rule | null
}

/** The parts of a configuration that decide which credentials count, as one text. Computed once per configuration. */
const credentialParts = new WeakMap<Config, string>()

/** Returns a short text that differs if other credentials count. */
export function credentialsKey(config: Config, rule: Rule | null): string {
  let shared = credentialParts.get(config)
  if (shared === undefined) {
    const { stateful, stateful_api, oauth, clients } = config
    shared = JSON.stringify([stateful, stateful_api, oauth.audience, clients.map(({ client_id }) => client_id)])
    credentialParts.set(config, shared)
  }
  return sha256Base64url(JSON.stringify([shared, rule?.credentials, apiOf(rule, config)?.audience])).slice(0, 8)
}

const originOf = (url: string): string => URL.parse(url)?.origin ?? 'null'

/** Headers as they count: without the path of the page, and `Accept` only as far as a navigation needs it. */
function headersOf(given: IncomingHttpHeaders): Record<string, string> {
  const { origin, referer, upgrade, accept = '' } = given
  const fetch = ['sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest'] as const
  return {
    ...(origin === undefined ? {} : { origin }),
    ...(referer ? { referer: `${originOf(referer)}/` } : {}),
    ...(upgrade === undefined ? {} : { upgrade }),
    ...(accept.toLowerCase().includes('text/html') ? { accept: 'text/html' } : {}),
    ...Object.fromEntries(fetch.flatMap((name) => (given[name] === undefined ? [] : [[name, String(given[name])]]))),
  }
}

/** Decides about the request of a proxy as `decide`, and records the decision if `audit.decisions` says so. */
export async function decideAndRecord(request: FastifyRequest, question: Question): Promise<Verdict> {
  const { decisionLog } = request.server
  if (!decisionLog.wants()) return decide(request, question)
  let authenticated: Authenticated | null | undefined
  let rule: Rule | null = null
  const record = (error: HttpError | null) => {
    const facts = factsOf({ question, request, authenticated, error, rule })
    decisionLog.record('guard', facts, { isKnown: facts.caller !== null })
  }
  try {
    const note: Question['note'] = (found, applied) => {
      authenticated = found
      rule = applied
    }
    const verdict = await decide(request, { ...question, note })
    record(null)
    return verdict
  } catch (error) {
    // An outage is no decision.
    if (error instanceof HttpError && error.statusCode < 500) record(error)
    throw error
  }
}

/** Returns the facts of a decision, without its time and without secrets. */
function factsOf({ question, request, authenticated, error, rule }: Made): GuardFacts {
  const { original, ruleName } = question
  const { methods, scheme, host, path, origin } = original
  const { headers, server } = request
  return {
    ...{ methods, scheme, host, path, origin },
    address: clientAddress(request),
    ...(ruleName === undefined ? {} : { rule: ruleName }),
    headers: headersOf(headers),
    hasCredential: headers.cookie !== undefined || headers.authorization !== undefined,
    isAuthenticated: authenticated !== undefined,
    caller: authenticated ? callerFacts(authenticated, server.clock.now()) : null,
    credentials: credentialsKey(server.config.current(), rule),
    verdict: error ? verdictOf(error) : allowed,
  }
}

function callerFacts({ caller, proof }: Authenticated, now: number): CallerFacts {
  const { kind, user, abilities } = caller
  const token = caller.kind === 'session' ? null : caller
  const age = proof?.confirmationAge ?? null
  const facts = user && {
    ...{ id: user.id, role: user.role, groups: user.groups, isVerified: user.email_verified_at !== null },
    terms: (user.terms ?? []).map(({ version }) => version),
  }
  return {
    ...{ kind, user: facts, abilities },
    ...(caller.isBound ? { isBound: true as const } : {}),
    ...(token?.clientId === undefined ? {} : { clientId: token.clientId }),
    ...(token?.signIn ? { signIn: token.signIn } : {}),
    ...(proof
      ? {
          proof: {
            ...(proof.authentication ? { authentication: proof.authentication } : {}),
            confirmedAt: age === null ? null : now - age,
          },
        }
      : {}),
  }
}
