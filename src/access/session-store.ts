import type { SessionStore as LibraryStore } from '@fastify/session'
import type { Session } from 'fastify'
import type { Clock } from '../clock.ts'
import type { CurrentConfig } from '../config/current.ts'
import type { Config } from '../config/schema.ts'
import { sha256Hex } from '../crypto/hash.ts'
import { randomId } from '../crypto/random.ts'
import { recent } from '../crypto/recent.ts'
import type { Database } from '../database/database.ts'
import type { Lookups, SessionRow } from './lookups/lookups.ts'
import { passwordFingerprintMatches } from './password-fingerprint.ts'

/** What was read of a session: its live row, or the public id of a row that no longer counts. Never part of the saved data. */
class SessionState {
  readonly row: SessionRow | null
  readonly stale: string | null

  constructor(row: SessionRow | null, stale: string | null) {
    this.row = row
    this.stale = stale
  }

  toJSON(): undefined {
    return undefined
  }
}

declare module 'fastify' {
  interface Session {
    state?: SessionState
  }
}

/** The cookie's attributes are not the row's: they come from the configuration in force. */
const cookie = { originalMaxAge: null }

/** The id of a session's row. */
const rowId = recent(10_000, sha256Hex)

const isOver = (row: SessionRow, now: number, { lifetime, absolute_lifetime }: Config['session']): boolean =>
  now - row.lastSeenAt >= lifetime * 60_000 || now - row.createdAt >= absolute_lifetime

/** Whether a row's user, if it has one, is still the one it began with: not disabled, and of the same password. */
const isSameUser = ({ user, password, passwordFingerprint }: SessionRow): boolean =>
  user === null || (!user.disabled && passwordFingerprintMatches(passwordFingerprint, password))

/** Whether a session's row counts: its time has not passed, and its user is the one it began with. */
export const isLive = (row: SessionRow, now: number, session: Config['session']): boolean =>
  !isOver(row, now, session) && isSameUser(row)

/** The library's store on rows of the database: read through the batched lookups, written only when something changed. */
export class SessionStore implements LibraryStore {
  readonly #database: Database
  readonly #lookups: Lookups
  readonly #clock: Clock
  readonly #config: CurrentConfig

  constructor(parts: { database: Database; lookups: Lookups; clock: Clock; config: CurrentConfig }) {
    this.#database = parts.database
    this.#lookups = parts.lookups
    this.#clock = parts.clock
    this.#config = parts.config
  }

  get(sessionId: string, done: (error: unknown, session?: Session | null) => void): void {
    this.#lookups.session(rowId(sessionId)).then(
      (row) => done(null, this.#read(row)),
      (error) => done(error),
    )
  }

  set(sessionId: string, session: Session, done: (error?: unknown) => void): void {
    this.#save(sessionId, session).then(() => done(), done)
  }

  destroy(sessionId: string, done: (error?: unknown) => void): void {
    this.#database.prisma.session.deleteMany({ where: { id: sha256Hex(sessionId) } }).then(() => done(), done)
  }

  #read(row: SessionRow | null): Session {
    if (!row) return { cookie, state: new SessionState(null, null) }
    const now = this.#clock.now()
    const { session } = this.#config.current()
    if (!isLive(row, now, session)) return { cookie, state: new SessionState(null, row.publicId) }
    return { ...JSON.parse(row.data), cookie, state: new SessionState(row, null) }
  }

  async #save(sessionId: string, { state, cookie: _cookie, ...rest }: Session): Promise<void> {
    const { prisma } = this.#database
    const id = sha256Hex(sessionId)
    const data = JSON.stringify(rest)
    if (state?.row) {
      // A row that is gone was ended meanwhile: an update that finds nothing must not bring it back.
      await prisma.session.updateMany({ where: { id, publicId: state.row.publicId }, data: { data } })
      return
    }
    const date = new Date(this.#clock.now())
    await this.#database.transaction(async (tx) => {
      if (state?.stale) await tx.session.deleteMany({ where: { id, publicId: state.stale } })
      // A session that was read without a row never carries a user, so neither does what it becomes. One statement:
      // of requests that save at once, none may fail because another was first.
      await tx.$executeRaw`
        INSERT INTO sessions (id, public_id, data, created_at, last_seen_at) VALUES (${id}, ${randomId()}, ${data}, ${date}, ${date})
        ON CONFLICT (id) DO UPDATE SET data = excluded.data, last_seen_at = excluded.last_seen_at WHERE sessions.user_id IS NULL`
    })
  }
}
