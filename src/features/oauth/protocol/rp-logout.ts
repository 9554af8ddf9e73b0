import Provider from 'oidc-provider'
import { endOwnSession } from '../../../login/sign-in.ts'
import { handedOf } from './browser.ts'
import { deleteClientGrants } from './ended/store.ts'
import type { Logout } from './session-end.ts'
import type { FollowingSession, SessionParts } from './sessions.ts'

/** Calls a client with a logout token (OpenID Connect Back-Channel Logout section 2.5); throws unless it answers that it knows. */
export type SendLogout = (logout: Logout) => Promise<void>

/**
 * Makes the library's sign-out svc's own: the browser's session ends with the OAuth server's, and the clients are told
 * by the outbox. What is returned is the library's way of telling one of them.
 */
export function adaptLogout(provider: Provider, { database, signOut, seal }: SessionParts): SendLogout {
  const { Client, Session } = provider
  const send: unknown = Reflect.get(Client.prototype, 'backchannelLogout')
  if (typeof send !== 'function') throw new Error('The OAuth library tells clients of a sign-out elsewhere.')

  Reflect.set(
    Client.prototype,
    'backchannelLogout',
    async function tell(this: { clientId: string }, accountId: string, sid: string) {
      // Where everything ends, the end of the session below tells everybody.
      if (Provider.ctx?.oidc.params?.logout) return
      await database.transaction((tx) => signOut.tell(tx, { clientId: this.clientId, accountId, sid }))
    },
  )

  const { destroy } = Session.prototype
  Session.prototype.destroy = async function endBoth(this: FollowingSession) {
    const { ctx } = Provider
    const { request, signedIn } = handedOf(ctx?.req ?? missing())
    const { storedId } = this
    if (signedIn && this.accountId === String(signedIn.user.id)) await endOwnSession(request)
    if (storedId) await database.transaction((tx) => signOut.endRecord(tx, storedId))
    return destroy.call(this)
  }

  // The library ends only the last grant of a client that is signed out alone.
  provider.use(async (ctx, next) => {
    await next()
    const { route, session, client, params } = ctx.oidc ?? {}
    if (route !== 'end_session_confirm' || params?.logout || ctx.status !== 303 || !session || !client) return
    const { clientId } = client
    await database.transaction((tx) => deleteClientGrants(database, tx, seal, { uid: session.uid, clientId }))
  })

  // Nobody is signed in, so there is nothing to ask: on at once, where the library has a form that a script sends.
  provider.use(async (ctx, next) => {
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
    // A client that was taken from the configuration meanwhile, or its address, is not there to be told.
    if (client && Reflect.get(client, 'backchannelLogoutUri')) await send.call(client, accountId, sid)
  }
}

function missing(): never {
  throw new Error('A session ends only within a request.')
}
