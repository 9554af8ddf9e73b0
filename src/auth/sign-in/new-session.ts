import { eventInsertion } from '../../identity/events.ts'
import type { User } from '../../identity/user.ts'
import { type UserWithPassword, unchangedAccount } from '../../identity/users.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import { randomId } from '../../platform/crypto/random.ts'
import { asBigint, asText, asTime, empty, querySql, sql } from '../../platform/database/sql.ts'
import { unauthenticated } from '../../platform/errors.ts'
import type { Impersonation } from '../access/caller.ts'
import type { SessionRow } from '../access/lookups/lookups.ts'
import { passwordFingerprint } from '../access/password-fingerprint.ts'
import type { Visit } from '../access/visit.ts'
import { type AuthenticationMethod, passwordMethod, withMethod } from './authentication-methods.ts'
import type { Channel } from './channel.ts'
import type { FailuresToClear } from './failures-to-clear.ts'
import { isNewBrowser } from './new-device.ts'
import type { Authentication } from './session-listener.ts'

/** User and method of a sign-in. */
export interface SignIn extends UserWithPassword {
  remember: boolean
  channel: Channel
  /** Default: password. */
  method?: AuthenticationMethod
  /** Second factor that completes a pending sign-in. Then the session must still exist. */
  completes?: AuthenticationMethod
  /** Whether a trusted browser takes the place of the second factor. */
  trusted?: boolean
  /** Whether this request created the account. */
  isNewAccount?: boolean
  /** Whether the hook before_sign_in has allowed it already. */
  isDecided?: boolean
  /** The failures that the sign-in clears. */
  failures?: FailuresToClear
}

/** Returns the authentication methods as `amr` values. */
export function amrOf({ method = passwordMethod, completes }: Pick<SignIn, 'method' | 'completes'>): string[] {
  const first = withMethod([], method)
  return completes ? withMethod(first, completes) : first
}

/** Returns the event of a sign-in. */
export const signInEvent = ({ user, remember, method = passwordMethod, channel, trusted }: SignIn) =>
  ({
    type: 'login',
    userId: user.id,
    credential: method.name,
    data: { remember, method: method.name, channel, ...(trusted ? { trusted_browser: true } : {}) },
  }) as const

/** Row of a new session. Only the cookie contains its id. */
export interface NewSession {
  sessionId: string
  user: User
  password: string | null
  rememberTokenId: bigint | null
  /** The binding of the browser, if it has proved itself. */
  bindingId?: string | null
  proof: Authentication
  impersonation?: Impersonation
}

/** Returns the columns of a new session. */
export const newSessionColumns = (session: NewSession) => ({
  id: sha256Hex(session.sessionId),
  publicId: randomId(),
  rememberTokenId: session.rememberTokenId,
  passwordFingerprint: passwordFingerprint(session.password),
  data: JSON.stringify({ proof: session.proof, impersonation: session.impersonation }),
  bindingId: session.bindingId ?? null,
})

/** A session that has begun, with the value of its remember-me cookie. */
interface Begun {
  row: SessionRow
  rememberCookie: string | null
}

/**
 * Tests whether the sign-in only adds rows, on PostgreSQL. Otherwise it also ends other sessions, or queues a mail or a
 * message about its event, and needs a transaction.
 */
export function onlyAddsRows(visit: Visit, login: SignIn): boolean {
  const { app, session } = visit
  const { row, stale } = session?.state ?? {}
  const endsSessions = row || stale || app.remember.isPresented(visit) || app.sessionListener.concerns(visit)
  return (
    app.database.engine === 'postgresql' &&
    !login.completes &&
    !endsSessions &&
    !isNewBrowser(visit, login) &&
    !app.subscriber.wants({ type: 'login', userId: login.user.id })
  )
}

/**
 * Begins a session in one statement, which locks the account, clears its failures, and inserts the session, the remembered
 * browser and the event. Throws 401 if the account has changed.
 */
export async function beginInOneStatement(visit: Visit, login: SignIn, session: NewSession): Promise<Begun> {
  const { app, origin } = visit
  const { user, password } = login
  const columns = newSessionColumns(session)
  const failures = login.failures?.within('account')
  const device = login.remember ? app.remember.insertion(visit, login) : null
  const event = eventInsertion(origin, signInEvent(login))
  const date = asTime(new Date(origin.now))
  const statement = sql`
    WITH account AS (${unchangedAccount(login)}),
    ${failures ? sql`${failures.sql},` : empty}
    ${device ? sql`forgotten AS (${device.forgetting}), remembered AS (${device.insertion} RETURNING id),` : empty}
    begun AS (
      INSERT INTO sessions (id, public_id, user_id, remember_token_id, password_mark, data, ip_address, user_agent, created_at,
        last_seen_at)
      SELECT ${asText(columns.id)}, ${asText(columns.publicId)}, account.id,
        ${device ? sql`(SELECT id FROM remembered)` : asBigint(null)}, ${asText(columns.passwordFingerprint)},
        ${asText(columns.data)}, ${asText(origin.ipAddress)}, ${asText(origin.userAgent)}, ${date}, ${date}
      FROM account RETURNING remember_token_id),
    noted AS (${event.insertion})
    SELECT remember_token_id AS device FROM begun`
  const name = ['sign-in', failures?.name ?? '', device ? 'remembered' : ''].join(':')
  const [begun] = await querySql(app.database, name, statement)
  if (failures) login.failures?.noteCleared()
  if (!begun) throw unauthenticated()
  event.note()
  const rememberTokenId = device ? BigInt(String(begun.device)) : null
  return {
    row: { ...columns, rememberTokenId, createdAt: origin.now, lastSeenAt: origin.now, boundAt: null, user, password },
    rememberCookie: device && rememberTokenId !== null ? device.cookieOf(rememberTokenId) : null,
  }
}
