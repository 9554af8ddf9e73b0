import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { User } from '../../../users/user.ts'
import type { AskedTokens } from './introspection/request.ts'

/** User of the browser by svc's session, which alone decides whether a user is signed in. */
export interface SignedIn {
  user: User
  /** The session's public id. */
  sessionId: string
  /** Time of the authentication, in unix seconds. */
  since: number
  /** Authentication methods (RFC 8176). */
  methods: readonly string[]
}

/** What the library's hooks can read about the request that svc passed on. */
export interface Handed {
  request: FastifyRequest
  reply: FastifyReply
  signedIn: SignedIn | null
  /** Tokens of an introspection request. */
  asked?: AskedTokens
}

const handed = new WeakMap<IncomingMessage, Handed>()

/** Stores these facts for the hooks, by the library's request. */
export const noteHanded = (raw: IncomingMessage, facts: Handed): void => void handed.set(raw, facts)

/** Returns the stored facts of a request. */
export function handedOf(raw: IncomingMessage): Handed {
  const facts = handed.get(raw)
  if (!facts) throw new Error('The request was not handed over.')
  return facts
}

/** Session of the browser, if a user is signed in. */
export function signedInOf(request: FastifyRequest): SignedIn | null {
  const row = request.session?.state?.row
  if (!request.caller?.user || !row?.user) return null
  const { at, methods } = request.session.proof ?? { at: row.createdAt, methods: [] }
  return { user: row.user, sessionId: row.publicId, since: Math.floor(at / 1000), methods }
}
