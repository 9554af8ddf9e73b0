import type Provider from 'oidc-provider'
import type { Grant, KoaContextWithOIDC } from 'oidc-provider'
import type { Config } from '../../../config/schema.ts'
import { audienceOf, resourceOf } from './audience.ts'
import { handedOf } from './browser.ts'
import { type RegisteredClient, type Registry, servedScopes } from './clients.ts'

/**
 * Whether a client of the operator's own is never asked for consent: only where no other program can receive its codes.
 * A public client proves itself by its https redirect URIs alone, so one that has none is asked like any other.
 */
export function skipsConsent(client: RegisteredClient, config: Config): boolean {
  if (!client.first_party || client.application_type === 'native') return false
  if (client.type === 'confidential') return true
  const isDevelopment = config.app.environment === 'development'
  const isOwn = (uri: string) => uri.startsWith('https://') || (isDevelopment && uri.startsWith('http://'))
  return client.redirect_uris.length > 0 && client.redirect_uris.every(isOwn)
}

/** Whether a device asks in the name of a public client: any program can do that, so the user is asked each time. */
export const isUnprovenDevice = ({ oidc }: KoaContextWithOIDC, client: RegisteredClient | undefined): boolean =>
  client?.type === 'public' && (oidc.entities.DeviceCode !== undefined || oidc.route === 'device_resume')

/** Gives a grant these scopes: those of OpenID Connect, and those of the API that the client's tokens are for. */
export function grantScopes(grant: Grant, scopes: Iterable<string>, audience: string): void {
  const openid = new Set<string>(servedScopes)
  const wanted = [...scopes]
  grant.addOIDCScope(wanted.filter((scope) => openid.has(scope)).join(' '))
  // The tokens are for one resource, which serves userinfo too: it holds all of them.
  grant.addResourceScope(resourceOf(audience), wanted.join(' '))
}

/** What a user allowed a client before. */
type FindConsent = (userId: number, clientId: string) => Promise<readonly string[]>

/**
 * The grant of an authorization: the one that the user just consented to, or a new one with what the user allowed
 * before. Each authorization has its own, so that revoking its tokens ends no other sign-in of the client.
 */
export const loadExistingGrant =
  (config: Config, registry: Registry, findConsent: FindConsent) =>
  async (ctx: KoaContextWithOIDC): Promise<Grant | undefined> => {
    const { client, session, result, provider, params, requestParamScopes } = ctx.oidc
    if (!client || !session?.accountId) return undefined
    const consented = result?.consent?.grantId
    const found = consented ? await provider.Grant.find(consented) : undefined
    const registered = registry.client(client.clientId)
    if (found || !registered) return found
    const asked = [...requestParamScopes]
    const allowed =
      skipsConsent(registered, config) && !isUnprovenDevice(ctx, registered)
        ? asked
        : await findConsent(Number(session.accountId), client.clientId)
    const given = asked.filter((scope) => allowed.includes(scope))
    if (given.length === 0) return undefined
    const grant = newGrant(provider, {
      accountId: session.accountId,
      clientId: client.clientId,
      sessionId: handedOf(ctx.req).signedIn?.sessionId,
      sessionUid: session.uid,
      endsWithSession:
        !ctx.oidc.route.startsWith('device_') &&
        ctx.oidc.route !== 'code_verification' &&
        !asked.includes('offline_access'),
    })
    grantScopes(grant, given, audienceOf(config, registered))
    // Single claims are not part of the consent that svc remembers; they last as long as the session.
    const previous = params?.claims ? await provider.Grant.find(session.grantIdFor(client.clientId) ?? '') : undefined
    if (previous) grant.addOIDCClaims(previous.getOIDCClaims())
    await grant.save()
    return grant
  }

/** What a new grant belongs to. */
interface GrantFacts {
  accountId: string
  clientId: string
  /** The browser session (public id) that it is made in: it can be saved only while that exists. */
  sessionId?: string | undefined
  /** The OAuth server's session that it is made in. */
  sessionUid?: string | undefined
  /** Whether it ends with that session: without offline access, and not for a device. */
  endsWithSession?: boolean
}

export const newGrant = (provider: Provider, facts: GrantFacts): Grant => new provider.Grant(facts as never)
