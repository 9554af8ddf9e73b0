import type { SessionStore as LibraryStore } from '@fastify/session'
import type { Session } from 'fastify'
import { recordEvent, systemOrigin } from '../../identity/events.ts'
import type { User } from '../../identity/user.ts'
import { cacheSize, recent } from '../../platform/cache.ts'
import type { Clock } from '../../platform/clock.ts'
import type { CurrentConfig } from '../../platform/config/current.ts'
import type { Config } from '../../platform/config/schema.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import { randomId } from '../../platform/crypto/random.ts'
import type { Database } from '../../platform/database/database.ts'
import type { EventSubscriber } from '../../platform/jobs/event-subscriber.ts'
import type { Impersonation } from './caller.ts'
import { isStillAllowed } from './impersonation.ts'
import type { Lookups, SessionRow } from './lookups/lookups.ts'
import { passwordFingerprintMatches } from './password-fingerprint.ts'

/** A live session, or a remembered browser (`publicId` is null), whose browser has not proved that it has the key. */
interface HeldSession {
  publicId: string | null
  bindingId: string | null
  createdAt: number
  user: User | null
}

/**
 * A loaded session: its live row, the public id of a row that is no longer valid, or a row that this request may not use. Not
 * part of the saved data.
 */
class SessionState {
  readonly row: SessionRow | null
  readonly stale: string | null
  held: HeldSession | null = null
  /** JSON of the data that the request read or saved last. */
  data: string

  constructor(row: SessionRow | null, stale: string | null) {
    this.row = row
    this.stale = stale
    this.data = row?.data ?? '{}'
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

/** Cookie attributes come from the active configuration, not from the row. */
const cookie = { originalMaxAge: null }

/** Id of a session's row. */
const rowId = recent(cacheSize.hashes, sha256Hex)

const isOver = (row: SessionRow, now: number, { lifetime, absolute_lifetime }: Config['session']): boolean =>
  now - row.lastSeenAt >= lifetime || now - row.createdAt >= absolute_lifetime

/** Tests whether a session's user is unchanged: not disabled, with the same password. True for anonymous sessions. */
const isSameUser = ({ user, password, passwordFingerprint }: SessionRow): boolean =>
  user === null || (!user.disabled && passwordFingerprintMatches(passwordFingerprint, password))

/** Tests whether a session row is valid: not expired, with an unchanged user. */
export const isLive = (row: SessionRow, now: number, session: Config['session']): boolean =>
  !isOver(row, now, session) && isSameUser(row)

/** Applies the changes of a request to the current data of its session. */
function withChanges(current: string, { read, saved }: { read: string; saved: string }): string {
  if (current === read) return saved
  const [before, after] = [JSON.parse(read), JSON.parse(saved)]
  const names = Object.keys({ ...before, ...after })
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
  return JSON.stringify({ ...JSON.parse(current), ...Object.fromEntries(changed.map((name) => [name, after[name]])) })
}

interface Parts {
  database: Database
  lookups: Lookups
  clock: Clock
  config: CurrentConfig
  subscriber: EventSubscriber
}

/** Session store on database rows: reads through the batched lookups, writes only changes. */
export class SessionStore implements LibraryStore {
  readonly #database: Database
  readonly #lookups: Lookups
  readonly #clock: Clock
  readonly #config: CurrentConfig
  readonly #subscriber: EventSubscriber
  readonly #expected = new Map<string, SessionRow | null>()

  constructor(parts: Parts) {
    this.#subscriber = parts.subscriber
    this.#database = parts.database
    this.#lookups = parts.lookups
    this.#clock = parts.clock
    this.#config = parts.config
  }

  /** Makes the next `get` of this session return a row instead of looking it up; null for a session without a row. */
  expect(sessionId: string, row: SessionRow | null): void {
    this.#expected.set(sessionId, row)
  }

  get(sessionId: string, done: (error: unknown, session?: Session | null) => void): void {
    this.#rowOf(sessionId)
      .then((row) => this.#read(row))
      .then(
        (session) => done(null, session),
        (error) => done(error),
      )
  }

  set(sessionId: string, session: Session, done: (error?: unknown) => void): void {
    this.#save(sessionId, session).then(() => done(), done)
  }

  destroy(sessionId: string, done: (error?: unknown) => void): void {
    this.#database.prisma.session.deleteMany({ where: { id: sha256Hex(sessionId) } }).then(() => done(), done)
  }

  #rowOf(sessionId: string): Promise<SessionRow | null> {
    const expected = this.#expected.get(sessionId)
    if (expected === undefined) return this.#lookups.session(rowId(sessionId))
    this.#expected.delete(sessionId)
    return Promise.resolve(expected)
  }

  #read(row: SessionRow | null): Session | Promise<Session> {
    if (!row) return { cookie, state: new SessionState(null, null) }
    const now = this.#clock.now()
    const config = this.#config.current()
    const ended = { cookie, state: new SessionState(null, row.publicId) }
    if (!isLive(row, now, config.session)) return ended
    const session: Session = { ...JSON.parse(row.data), cookie, state: new SessionState(row, null) }
    const { impersonation } = session
    if (!impersonation) return session
    return this.#mayContinue(row, impersonation).then((may) => (may ? session : ended))
  }

  /** Ends the session unless the administrator may still act as its user. A right that comes back does not revive it. */
  async #mayContinue({ user, publicId }: SessionRow, impersonation: Impersonation): Promise<boolean> {
    const own = await this.#database.prisma.session.findUnique({ where: { publicId: impersonation.session } })
    const state = { user, own, now: this.#clock.now(), config: this.#config.current() }
    if (await isStillAllowed(this.#database, impersonation, state)) return true
    await this.#database.transaction(async (tx) => {
      const { count } = await tx.session.deleteMany({ where: { publicId } })
      await tx.session.deleteMany({ where: { publicId: impersonation.session } })
      if (count === 0 || !user) return
      const origin = systemOrigin({ now: state.now, subscriber: this.#subscriber })
      await recordEvent(tx, origin, { type: 'impersonation_ended', userId: user.id })
    })
    return false
  }

  async #save(sessionId: string, { state, cookie: _cookie, ...rest }: Session): Promise<void> {
    const id = sha256Hex(sessionId)
    const data = JSON.stringify(rest)
    if (state?.row) {
      await this.#update({ id, publicId: state.row.publicId }, { read: state.data, saved: data })
      state.data = data
      return
    }
    const date = new Date(this.#clock.now())
    await this.#database.transaction(async (tx) => {
      if (state?.stale) await tx.session.deleteMany({ where: { id, publicId: state.stale } })
      // A session without a row has no user, so the new row has none either. A single statement, so that concurrent
      // saves do not make each other fail.
      await tx.$executeRaw`
        INSERT INTO sessions (id, public_id, data, created_at, last_seen_at) VALUES (${id}, ${randomId()}, ${data}, ${date}, ${date})
        ON CONFLICT (id) DO UPDATE SET data = excluded.data, last_seen_at = excluded.last_seen_at WHERE sessions.user_id IS NULL`
    })
  }

  /** Saves the changes of a request. Keeps the changes that concurrent requests of the session have saved. */
  async #update(row: { id: string; publicId: string }, request: { read: string; saved: string }): Promise<void> {
    const { session } = this.#database.prisma
    let current = request.read
    for (;;) {
      const data = withChanges(current, request)
      const { count } = await session.updateMany({ where: { ...row, data: current }, data: { data } })
      if (count > 0) return
      const found = await session.findFirst({ where: row, select: { data: true } })
      // A missing row was ended meanwhile; the update must not restore it.
      if (!found) return
      current = found.data
    }
  }
}
