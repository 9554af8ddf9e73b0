import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { User } from '../../../identity/user.ts'
import type { AuthenticatedWorkload } from '../workloads/authenticate.ts'

/** User who is signed in to svc's own session. The library's session does not decide who is signed in. */
export interface SignedIn {
  user: User
  /** The session's public id. */
  sessionId: string
  /** Id of the session's row. */
  rowId: string
  /** Time of the authentication, in unix seconds. */
  since: number
  /** Authentication methods (RFC 8176). */
  methods: readonly string[]
}

/** Tokens of an introspection request, or what is wrong with it. */
export type AskedTokens = { texts: readonly string[]; isList: boolean } | { error: string }

/** Facts about a request that svc passes to the library, for the library's hooks. */
export interface RequestFacts {
  request: FastifyRequest
  reply: FastifyReply
  signedIn: SignedIn | null
  /** Client that the token of its platform authenticated. */
  workload?: AuthenticatedWorkload
  /** Tokens of an introspection request. */
  asked?: AskedTokens
}

const factsByRequest = new WeakMap<IncomingMessage, RequestFacts>()

/** Stores the facts about a request. */
export const setRequestFacts = (raw: IncomingMessage, facts: RequestFacts): void => void factsByRequest.set(raw, facts)

/** Returns the facts about a request. Throws if `setRequestFacts` was not called for it. */
export function requestFactsOf(raw: IncomingMessage): RequestFacts {
  const facts = factsByRequest.get(raw)
  if (!facts)
    throw new Error('No facts are stored for this request. Call setRequestFacts before the library handles it.')
  return facts
}

/** Returns the signed-in user of the browser, or null. */
export function signedInOf(request: FastifyRequest): SignedIn | null {
  const row = request.session?.state?.row
  if (!request.caller?.user || !row?.user) return null
  const { at, methods } = request.session.proof ?? { at: row.createdAt, methods: [] }
  return { user: row.user, sessionId: row.publicId, rowId: row.id, since: Math.floor(at / 1000), methods }
}
