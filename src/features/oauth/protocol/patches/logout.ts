import Provider from 'oidc-provider'
import { endOwnSession } from '../../../../login/sign-in.ts'
import { requestFactsOf } from '../browser.ts'
import { deleteClientGrants } from '../ended/store.ts'
import type { Logout } from '../session-end.ts'
import { patch, patchAnswer } from './patch.ts'
import type { FollowingSession, SessionParts } from './sessions.ts'

/**
 * Sends a logout token to a client (OpenID Connect Back-Channel Logout section 2.5). Throws unless the client confirms
 * it.
 */
export type SendLogout = (logout: Logout) => Promise<void>

type Send = (this: object, accountId: string, sid?: string) => Promise<void>

/**
 * Makes the library's sign-out also end svc's session. The outbox notifies the clients. Returns the library's function
 * that notifies one client.
 */
export function adaptLogout(provider: Provider, { database, signOut, seal }: SessionParts): SendLogout {
  let send: Send | undefined
  patch<Send>(provider, ['Client.prototype', 'backchannelLogout'], 'notifies clients by the outbox', (original) => {
    send = original
    return async function notify(this: { clientId: string }, accountId: string, sid: string) {
      // If the whole session ends, its end below notifies every client.
      if (Provider.ctx?.oidc.params?.logout) return
      await database.transaction((tx) => signOut.notify(tx, { clientId: this.clientId, accountId, sid }))
    }
  })

  patch<(this: object) => Promise<void>>(
    provider,
    ['Session.prototype', 'destroy'],
    "ends svc's own session as well",
    (destroy) =>
      async function endBoth(this: FollowingSession) {
        const { ctx } = Provider
        const { request, signedIn } = requestFactsOf(ctx?.req ?? missing())
        const { storedId } = this
        if (signedIn && this.accountId === String(signedIn.user.id)) await endOwnSession(request)
        if (storedId) await database.transaction((tx) => signOut.endRecord(tx, storedId))
        return destroy.call(this)
      },
  )

  patchAnswer(provider, 'client-logout', 'ends every grant of a client that signs out alone', async (ctx, next) => {
    await next()
    const { route, session, client, params } = ctx.oidc ?? {}
    if (route !== 'end_session_confirm' || params?.logout || ctx.status !== 303 || !session || !client) return
    const { clientId } = client
    await database.transaction((tx) => deleteClientGrants(database, tx, seal, { uid: session.uid, clientId }))
  })

  // The library responds with a form that a script submits.
  patchAnswer(provider, 'guest-logout', 'redirects at once if no user is signed in', async (ctx, next) => {
    await next()
    const { oidc } = ctx
    if (oidc?.route !== 'end_session' || oidc.session?.accountId !== undefined || ctx.status !== 200) return
    const { post_logout_redirect_uri: uri, state } = oidc.params ?? {}
    const target = new URL(typeof uri === 'string' ? uri : '/oauth/logout/success', provider.issuer)
    if (typeof uri === 'string' && typeof state === 'string') target.searchParams.set('state', state)
    ctx.status = 303
    ctx.redirect(target.href)
  })

  return async ({ clientId, accountId, sid }) => {
    const client = await provider.Client.find(clientId)
    // A reload may have removed the client or its logout URI meanwhile.
    if (client && Reflect.get(client, 'backchannelLogoutUri')) await send?.call(client, accountId, sid)
  }
}

function missing(): never {
  throw new Error('A session ends only within a request.')
}
