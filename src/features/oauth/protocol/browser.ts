import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { User } from '../../../users/user.ts'

/** Who sits at the browser, by svc's own session: what alone decides whether somebody is signed in. */
export interface SignedIn {
  user: User
  /** The session's public id. */
  sessionId: string
  /** When they proved who they are, in unix seconds. */
  since: number
  /** How they did, in the words of RFC 8176. */
  methods: readonly string[]
}

/** What the library's hooks may ask of the request that was handed over. */
export interface Handed {
  request: FastifyRequest
  reply: FastifyReply
  signedIn: SignedIn | null
}

const handed = new WeakMap<IncomingMessage, Handed>()

/** Notes what hooks may ask, under the request as the library sees it. */
export const noteHanded = (raw: IncomingMessage, facts: Handed): void => void handed.set(raw, facts)

/** What is known of a request that was handed over. */
export function handedOf(raw: IncomingMessage): Handed {
  const facts = handed.get(raw)
  if (!facts) throw new Error('The request was not handed over.')
  return facts
}

/** The session of the browser, if somebody is signed in. */
export function signedInOf(request: FastifyRequest): SignedIn | null {
  const row = request.session?.state?.row
  if (!request.caller?.user || !row?.user) return null
  const { at, methods } = request.session.proof ?? { at: row.createdAt, methods: [] }
  return { user: row.user, sessionId: row.publicId, since: Math.floor(at / 1000), methods }
}
