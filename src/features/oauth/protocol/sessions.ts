import type Provider from 'oidc-provider'
import type { Session } from 'oidc-provider'
import { handedOf } from './browser.ts'

/** A session of the OAuth server with the browser session that it follows. */
interface FollowingSession extends Session {
  sessionId?: string
  /** Whether the library is to save it with the answer. */
  touched?: boolean
}

const following = new Set(['authorization', 'code_verification'])

/**
 * Makes the library's session follow svc's own: it takes the user over where an authorization begins, and the row
 * remembers which browser session that was. It never signs anybody out by itself: that is for explicit ends.
 */
export function followBrowserSessions(provider: Provider): void {
  const { Session } = provider
  const stored = Object.getOwnPropertyDescriptor(Session, 'IN_PAYLOAD')?.get
  Object.defineProperty(Session, 'IN_PAYLOAD', {
    get(this: typeof Session): string[] {
      return [...(stored?.call(this) ?? []), 'sessionId']
    },
  })

  const get = Session.get.bind(Session)
  Session.get = async (ctx) => {
    const session: FollowingSession = await get(ctx)
    const { signedIn } = handedOf(ctx.req)
    // Not when an interaction ends: there the library compares with the session that began it.
    if (!signedIn || !following.has(ctx.oidc?.route ?? '')) return session
    const accountId = String(signedIn.user.id)
    if (session.accountId === undefined) {
      session.loginAccount({ accountId, loginTs: signedIn.since })
      session.touched = true
    }
    if (session.accountId === accountId && session.sessionId !== signedIn.sessionId) {
      session.sessionId = signedIn.sessionId
      session.touched = true
    }
    return session
  }

  // Saves a session that was never stored, as the library does for the device page of a new visitor, instead of failing.
  const { persist } = Session.prototype
  Session.prototype.persist = async function persistAny(this: Session & { exp?: number }) {
    if (typeof this.exp === 'number') return persist.call(this)
    return this.save(newSessionSeconds)
  }
}

/** How long a session lasts that knows nobody yet, in seconds. */
const newSessionSeconds = 3_600
