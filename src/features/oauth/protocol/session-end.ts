import type { FastifyInstance } from 'fastify'
import type { Tx } from '../../../database/database.ts'
import type { EndedSessions, SessionListener } from '../../../login/session-listener.ts'
import { sessionCookie } from './cookie-names.ts'
import { deleteGrantRecords, deleteSessionRecords, relinkSessionRecord } from './ended/store.ts'
import type { RecordSeal, SealedRecord } from './record-seal.ts'
import { lockOwners, ownersOf, recordId } from './store.ts'

/** The outbox's name for telling a client that somebody signed out. */
export const logoutWork = 'oauth-sign-out'

/** Whom a client is told of (OpenID Connect Back-Channel Logout section 2.4). */
export interface Logout {
  clientId: string
  accountId: string
  sid?: string
}

/** What a session of the OAuth server keeps of one client. */
interface Authorization {
  sid?: string
  grantId?: string
  /** Whether what it was given outlives the session: offline access, and devices. */
  persistsLogout?: boolean
}

interface StoredSession {
  accountId?: string
  authorizations?: Record<string, Authorization>
}

type Parts = Pick<FastifyInstance, 'outbox' | 'config' | 'clock' | 'database'>

/**
 * Lets the OAuth server's sessions follow the browser's. What ends is dead with the transaction, on every replica; the
 * clients are told of it afterwards, as often as it takes.
 */
export class SignOut implements SessionListener {
  readonly #parts: Parts
  readonly #seal: RecordSeal

  constructor(parts: Parts, seal: RecordSeal) {
    this.#parts = parts
    this.#seal = seal
  }

  /** The user of the browser's OAuth session. It can be another one than the session's, whose idle timeout ends no OAuth session. */
  usersOf: SessionListener['usersOf'] = async (tx, request) => {
    const cookie = request.cookies?.[sessionCookie]
    return cookie ? ownersOf(tx, { id: recordId('Session', cookie) }) : []
  }

  /** Continues the OAuth session of a browser where the same user signed in again, and ends that of another user. */
  began: SessionListener['began'] = async (tx, request, { publicId, userId }) => {
    const cookie = request.cookies?.[sessionCookie]
    if (!cookie) return
    const id = recordId('Session', cookie)
    const until = this.#parts.clock.now() + this.#parts.config.current().session.absolute_lifetime
    await relinkSessionRecord(tx, { id, userId, publicId, until })
    await this.#end(tx, await deleteSessionRecords(tx, { id, unlessOf: userId }))
  }

  /** Ends what follows these sessions; only what was given for good stays. */
  ended = async (tx: Tx, ended: EndedSessions): Promise<void> => {
    if ('userId' in ended) return this.#end(tx, await deleteSessionRecords(tx, ended))
    for (const publicId of new Set(ended.publicIds)) await this.#end(tx, await deleteSessionRecords(tx, { publicId }))
  }

  /** Ends one session of the OAuth server, by the value of its cookie. */
  async endRecord(tx: Tx, cookie: string): Promise<void> {
    const id = recordId('Session', cookie)
    await lockOwners(this.#parts.database, tx, { id })
    await this.#end(tx, await deleteSessionRecords(tx, { id }))
  }

  /** Tells the client of a logout, if it wants to be told. */
  async tell(tx: Tx, logout: Logout): Promise<void> {
    const { clients } = this.#parts.config.current()
    const client = clients.find(({ client_id }) => client_id === logout.clientId)
    if (client?.backchannel_logout_uri) await this.#parts.outbox.add(tx, logoutWork, logout)
  }

  async #end(tx: Tx, records: readonly SealedRecord[]): Promise<void> {
    for (const record of records) {
      const { accountId, authorizations = {} } = this.#seal.open<StoredSession>(record) ?? {}
      for (const [clientId, { sid, grantId, persistsLogout }] of Object.entries(authorizations)) {
        if (grantId && !persistsLogout) await deleteGrantRecords(tx, grantId)
        if (accountId) await this.tell(tx, { clientId, accountId, ...(sid ? { sid } : {}) })
      }
    }
  }
}
