import type { Tx } from '../../platform/database/database.ts'
import type { Visit } from '../access/visit.ts'

/** Browser sessions that ended: those with these public ids, or all of a user except one. */
export type EndedSessions = { publicIds: readonly string[] } | { userId: number; except: string | null }

/**
 * Receives the beginning and the end of each user's browser session, inside the transaction that makes it. Expiry is not
 * reported.
 */
export interface SessionListener {
  /**
   * Users whose sessions a sign-in with this request may end. The transaction locks them together with the user who
   * signs in, because two separate locks can deadlock.
   */
  usersOf(tx: Tx, visit: Visit): Promise<number[]>
  /** Tests whether a sign-in with this request may concern the listener. */
  concerns(visit: Visit): boolean
  began(tx: Tx, visit: Visit, session: { publicId: string; userId: number }): Promise<void>
  ended(tx: Tx, ended: EndedSessions): Promise<void>
}

declare module 'fastify' {
  interface FastifyInstance {
    sessionListener: SessionListener
  }
}

declare module 'fastify' {
  interface Session {
    /** How the user authenticated. Stored in the row under this name. */
    proof?: Authentication
  }
}

/** Time and methods of a session's sign-in. For a remembered browser, the original sign-in. */
export interface Authentication {
  /** Unix milliseconds. */
  at: number
  /** Authentication methods (RFC 8176 section 2); empty if unknown. */
  methods: readonly string[]
  /** Whether a trusted browser took the place of the second factor: the sign-in then counts as no confirmation. */
  trusted?: true
}
