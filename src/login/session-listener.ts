import type { FastifyRequest } from 'fastify'
import type { Tx } from '../database/database.ts'

/** Browser sessions that somebody ended: these, or all of a user but one. */
export type EndedSessions = { publicIds: readonly string[] } | { userId: number; except: string | null }

/**
 * Follows the browser sessions of users, in the transaction in which each begins or is ended by somebody's will.
 * That one idled out or grew too old is no such end.
 */
export interface SessionListener {
  began(tx: Tx, request: FastifyRequest, session: { publicId: string; userId: number }): Promise<void>
  ended(tx: Tx, ended: EndedSessions): Promise<void>
}

declare module 'fastify' {
  interface FastifyInstance {
    sessionListener: SessionListener
  }
}

declare module 'fastify' {
  interface Session {
    /** How the user proved who they are; kept in the row. */
    proof?: SignInProof
  }
}

/** When and how the user of a session signed in: a remembered browser did so before its session began. */
export interface SignInProof {
  /** Unix milliseconds. */
  at: number
  /** Authentication methods (RFC 8176 section 2); empty where they are no longer known. */
  methods: readonly string[]
}
