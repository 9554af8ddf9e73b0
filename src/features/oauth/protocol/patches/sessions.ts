import Provider, { type Session } from 'oidc-provider'
import type { Config } from '../../../../platform/config/schema.ts'
import { sha256Hex } from '../../../../platform/crypto/hash.ts'
import type { Database } from '../../../../platform/database/database.ts'
import type { RecordSeal } from '../../records/record-seal.ts'
import { requestFactsOf } from '../browser.ts'
import { sessionCookie, sessionCookieOptions } from '../cookie-names.ts'
import { noteCause } from '../refusal-causes.ts'
import type { SignOut } from '../session-end.ts'
import { patch } from './patch.ts'

/** Fields of sessions and grants that the library does not store. */
interface Stored {
  jti: string
  /** Identifier of the row, if there is one. A renewed identifier moves the row; an ended record has none. */
  storedId?: string
  /** Browser session to which it is bound. Stored in a column of the row, outside the payload. */
  sessionId?: string
}

/** OAuth session, with fields that the library's types lack. */
export interface FollowingSession extends Session, Stored {
  jti: string
  /** Identifier whose row the library would delete. */
  oldId?: string | undefined
  /** Whether the library saves it with the response. */
  touched?: boolean
  /** Whether the browser sent no session. */
  new?: boolean
}

export interface SessionParts {
  database: Database
  signOut: SignOut
  seal: RecordSeal
  config: Config
}

type Find = (id: string, options?: object) => Promise<unknown>

type Save = (this: object, ttl: number) => Promise<unknown>

/** Routes where an authorization or a sign-out begins. */
const begins = new Set(['authorization', 'code_verification', 'end_session'])

/** Lifetime of an anonymous session, in seconds. */
const newSessionSeconds = 3_600

/**
 * Binds the library's session to svc's own, which alone decides who is signed in. It takes the user when an
 * authorization begins, and its row names the browser session. An idle timeout does not end it, because it is not a
 * sign-out.
 */
export function followBrowserSessions(provider: Provider, { database, signOut, config }: SessionParts): void {
  const { Session, Interaction } = provider
  const cookieOptions = sessionCookieOptions(config.app.url.startsWith('https://'))
  keepStored(provider, 'Session')
  keepStored(provider, 'Grant', ['sessionUid', 'endsWithSession'])
  bindToSession(provider)

  const takeOver = (get: typeof Session.get) => async (ctx: Parameters<typeof get>[0]) => {
    let session: FollowingSession = await get(ctx)
    const { signedIn } = requestFactsOf(ctx.req)
    if (!signedIn) return session
    const accountId = String(signedIn.user.id)
    // Only here: when an interaction ends, the library compares its user with that of the session in which it began.
    if (begins.has(ctx.oidc?.route ?? '')) {
      const { storedId } = session
      if (session.accountId !== undefined && session.accountId !== accountId) {
        if (storedId) await database.transaction((tx) => signOut.endRecord(tx, storedId))
        session = Reflect.construct(Session, [{}])
        ctx.oidc.entity('Session', session)
      }
      // An attacker may have planted an anonymous session, and would know its identifier and the secret of its forms.
      if (session.accountId === undefined && !session.new) {
        session.resetIdentifier()
        Reflect.deleteProperty(session, 'state')
      }
      if (session.accountId === undefined || session.loginTs !== signedIn.since) {
        session.loginAccount({ accountId, loginTs: signedIn.since })
        session.touched = true
      }
    }
    if (session.accountId === undefined || session.accountId === accountId) session.sessionId = signedIn.sessionId
    return session
  }
  patch(provider, ['Session', 'get'], "takes the user over from svc's own session", takeOver)

  // The device page changes its form's secret after the library has set the cookies of the response.
  patch<Session['persist']>(
    provider,
    ['Session.prototype', 'persist'],
    'saves a session that was never stored, as on the device page of a new visitor',
    (persist) =>
      async function persistAny(this: FollowingSession & { exp?: number }) {
        if (this.accountId === undefined) Provider.ctx?.oidc.cookies.set(sessionCookie, this.jti, cookieOptions)
        if (typeof this.exp === 'number') return persist.call(this)
        return this.save(newSessionSeconds)
      },
  )

  storeOrigins(provider)
  // An interaction outlives the sign-out of the session that began it. It continues for the next user to sign in,
  // without earlier decisions. Its two signed cookies still bind it to the browser.
  const forget = (find: Find) => async (id: string, options?: object) => {
    const interaction = await find(id, options)
    if (!(interaction instanceof Interaction) || !interaction.session?.uid) return interaction
    const { uid, accountId } = interaction.session
    if ((await Session.findByUid(uid))?.accountId === accountId) return interaction
    Object.assign(interaction, { session: undefined, lastSubmission: undefined, grantId: undefined })
    if (interaction.result?.consent) Object.assign(interaction, { result: undefined })
    return interaction
  }
  patch(provider, ['Interaction', 'find'], 'forgets what another session decided', forget)
}

/** Stores with an interaction the browser session in which it began. A later sign-in creates another session. */
function storeOrigins(provider: Provider): void {
  addFields(provider, 'Interaction', ['beganIn'])
  patch<Save>(
    provider,
    ['Interaction.prototype', 'save'],
    'stores the browser session in which the interaction began',
    (save) =>
      async function noteSession(this: { beganIn?: string | null }, ttl: number) {
        const { ctx } = Provider
        if (this.beganIn === undefined && ctx) this.beganIn = requestFactsOf(ctx.req).signedIn?.sessionId ?? null
        return save.call(this, ttl)
      },
  )
}

/** Adds fields to the stored payload of a model. */
function addFields(provider: Provider, model: string, names: readonly string[]): void {
  patch<() => string[]>(
    provider,
    [model, 'IN_PAYLOAD'],
    `stores ${names.join(', ')} as well`,
    (fields) =>
      function withMore(this: object) {
        return [...fields.call(this), ...names]
      },
  )
}

/**
 * Ends tokens with the session they are bound to. The library also compares their grant with the session's latest one
 * for the client, but in svc a session may have several.
 */
function bindToSession(provider: Provider): void {
  const { Session } = provider
  for (const model of ['AuthorizationCode', 'RefreshToken']) {
    patch<(value: string, options?: object) => Promise<BoundToken | undefined>>(
      provider,
      [model, 'find'],
      'ends with its session, which may have several grants for one client',
      (find) => async (value: string, options?: object) => {
        const token = await find(value, { ...options, ignoreSessionBinding: true })
        if (!token?.expiresWithSession) return token
        const session = await Session.findByUid(token.sessionUid ?? '')
        if (session && session.accountId === token.accountId) return token
        noteCause('its session has ended')
        return undefined
      },
    )
  }
  patch(
    provider,
    ['Session.prototype', 'ensureClientContainer'],
    'derives sid, so that two concurrent first authorizations get the same one',
    () =>
      function nameClient(this: Session, clientId: string) {
        if (!this.sidFor(clientId)) this.sidFor(clientId, sha256Hex(`sid\0${this.uid}\0${clientId}`).slice(0, 32))
      },
  )
}

/** Session fields of a code or refresh token. */
interface BoundToken {
  accountId?: string
  sessionUid?: string
  expiresWithSession?: boolean
}

/** Stores the row's identifier in models of a kind, so that an ended row is not written again. */
function keepStored(provider: Provider, model: 'Session' | 'Grant', more: readonly string[] = []): void {
  addFields(provider, model, ['storedId', 'storedPayload', 'storedContent', 'sessionId', ...more])
  patch<Save>(
    provider,
    [`${model}.prototype`, 'save'],
    'remembers its row, so that a row that has ended is not written again',
    (save) =>
      async function saveStored(this: FollowingSession, ...args: [number]) {
        if (this.oldId) this.oldId = undefined
        const value = await save.apply(this, args)
        // A session without a user may exist only in a cookie.
        if (this.accountId !== undefined) this.storedId = this.jti
        // Assigning a field marks the session as changed, and the library would save it again.
        if (this.touched) this.touched = false
        return value
      },
  )
}
