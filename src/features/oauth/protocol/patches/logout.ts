import Provider, { type KoaContextWithOIDC } from 'oidc-provider'
import { endOwnSession } from '../../../../auth/sign-in/sign-in.ts'
import type { Registry } from '../../clients/clients.ts'
import { deleteClientGrants } from '../../records/ended-store.ts'
import { requestFactsOf } from '../browser.ts'
import { sessionCookie, sessionCookieOptions } from '../cookie-names.ts'
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
export function adaptLogout(provider: Provider, parts: SessionParts & { registry: Registry }): SendLogout {
  const { database, signOut, seal, config, registry } = parts
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

  patchAnswer(
    provider,
    'confirmed-logout',
    'signs out without a page if the client proves the session',
    async (ctx, next) => {
      await next()
      const { oidc } = ctx
      if (oidc?.route !== 'end_session' || ctx.status !== 200 || !isProven(oidc)) return
      const { params } = oidc
      const { storedId }: FollowingSession = oidc.session
      const target = new URL(String(params?.post_logout_redirect_uri))
      if (typeof params?.state === 'string') target.searchParams.set('state', params.state)
      await endOwnSession(requestFactsOf(ctx.req).request)
      if (storedId) await database.transaction((tx) => signOut.endRecord(tx, storedId))
      oidc.cookies.set(sessionCookie, null, sessionCookieOptions(provider.issuer.startsWith('https://')))
      oidc.provider.emit('end_session.success', ctx)
      ctx.body = ''
      ctx.remove('content-type')
      ctx.status = 303
      ctx.redirect(target.href)
    },
  )

  /** Tests whether the client may skip the page, and proves by an ID token that it belongs to this session. */
  function isProven({ session, client, params, entities }: KoaContextWithOIDC['oidc']): boolean {
    const hint = entities.IdTokenHint?.payload
    const asked = registry.client(client?.clientId)?.skip_logout_confirmation ?? config.oauth.skip_logout_confirmation
    const skips = asked && !registry.isDocument(client?.clientId)
    if (!skips || !session?.accountId || !client || !hint || params?.post_logout_redirect_uri === undefined)
      return false
    // Only some clients get `sid`. The ID token of another one must be from after the sign-in.
    const sid = session.sidFor(client.clientId)
    const isOfSession = hint.sid === undefined ? Number(hint.iat) >= Number(session.loginTs) : hint.sid === sid
    return sid !== undefined && hint.sub === session.accountId && isOfSession
  }

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
