import type { FastifyInstance } from 'fastify'
import type { EndedSessions, SessionListener } from '../../../auth/sign-in/session-listener.ts'
import type { Tx } from '../../../platform/database/database.ts'
import { deleteGrantRecords, deleteSessionRecords, relinkSessionRecord } from '../records/ended-store.ts'
import type { RecordSeal, SealedRecord } from '../records/record-seal.ts'
import { lockOwners, ownersOf, recordId } from '../records/store.ts'
import { sessionCookie } from './cookie-names.ts'

/** Kind of the outbox jobs that send back-channel logout requests. */
export const logoutWork = 'oauth-sign-out'

/** Subject and session of a logout token (OpenID Connect Back-Channel Logout section 2.4). */
export interface Logout {
  clientId: string
  accountId: string
  sid?: string
}

/** Client data of an OAuth session. */
interface Authorization {
  sid?: string
  grantId?: string
  /** Whether its tokens outlive the session: offline access, and devices. */
  persistsLogout?: boolean
}

interface StoredSession {
  accountId?: string
  authorizations?: Record<string, Authorization>
}

type Parts = Pick<FastifyInstance, 'outbox' | 'config' | 'clock' | 'database'>

/**
 * Binds OAuth sessions to browser sessions. An end takes effect with the transaction, on every replica. The outbox then
 * notifies the clients, with retries.
 */
export class SignOut implements SessionListener {
  readonly #parts: Parts
  readonly #seal: RecordSeal

  constructor(parts: Parts, seal: RecordSeal) {
    this.#parts = parts
    this.#seal = seal
  }

  /**
   * User of the browser's OAuth session. It can differ from the session's user, because an idle timeout does not end
   * OAuth sessions.
   */
  usersOf: SessionListener['usersOf'] = async (tx, visit) => {
    const cookie = visit.cookie(sessionCookie)
    return cookie ? ownersOf(tx, { id: recordId('Session', cookie) }) : []
  }

  concerns: SessionListener['concerns'] = (visit) => visit.cookie(sessionCookie) !== undefined

  /** Continues the OAuth session if the same user signed in again, and ends that of another user. */
  began: SessionListener['began'] = async (tx, visit, { publicId, userId }) => {
    const cookie = visit.cookie(sessionCookie)
    if (!cookie) return
    const id = recordId('Session', cookie)
    const until = this.#parts.clock.now() + this.#parts.config.current().session.absolute_lifetime
    await relinkSessionRecord(tx, { id, userId, publicId, until })
    await this.#end(tx, await deleteSessionRecords(tx, { id, unlessOf: userId }))
  }

  /** Ends the OAuth sessions of these sessions. Offline access remains. */
  ended = async (tx: Tx, ended: EndedSessions): Promise<void> => {
    if ('userId' in ended) return this.#end(tx, await deleteSessionRecords(tx, ended))
    for (const publicId of new Set(ended.publicIds)) await this.#end(tx, await deleteSessionRecords(tx, { publicId }))
  }

  /** Ends one OAuth session by the value of its cookie. */
  async endRecord(tx: Tx, cookie: string): Promise<void> {
    const id = recordId('Session', cookie)
    await lockOwners(this.#parts.database, tx, { id })
    await this.#end(tx, await deleteSessionRecords(tx, { id }))
  }

  /** Queues a logout request to the client, if it has a back-channel logout URI. */
  async notify(tx: Tx, logout: Logout): Promise<void> {
    const { clients } = this.#parts.config.current()
    const client = clients.find(({ client_id }) => client_id === logout.clientId)
    if (client?.backchannel_logout_uri) await this.#parts.outbox.add(tx, logoutWork, logout)
  }

  async #end(tx: Tx, records: readonly SealedRecord[]): Promise<void> {
    for (const record of records) {
      const { accountId, authorizations = {} } = this.#seal.open<StoredSession>(record) ?? {}
      for (const [clientId, { sid, grantId, persistsLogout }] of Object.entries(authorizations)) {
        if (grantId && !persistsLogout) await deleteGrantRecords(tx, grantId)
        if (accountId) await this.notify(tx, { clientId, accountId, ...(sid ? { sid } : {}) })
      }
    }
  }
}
