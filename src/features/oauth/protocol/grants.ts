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
 * The grant of an authorization: the one that the session has with the client, or a new one made from what the user
 * allowed before. One for each session and client: the end of one device's does not end another's.
 */
export const loadExistingGrant =
  (config: Config, registry: Registry, findConsent: FindConsent) =>
  async (ctx: KoaContextWithOIDC): Promise<Grant | undefined> => {
    const { client, session, result, provider, requestParamScopes } = ctx.oidc
    if (!client || !session?.accountId) return undefined
    const grantId = result?.consent?.grantId ?? session.grantIdFor(client.clientId)
    const found = grantId ? await provider.Grant.find(grantId) : undefined
    const registered = registry.client(client.clientId)
    if (!registered) return found
    const asked = [...requestParamScopes]
    const allowed =
      skipsConsent(registered, config) && !isUnprovenDevice(ctx, registered)
        ? asked
        : await findConsent(Number(session.accountId), client.clientId)
    const given = asked.filter((scope) => allowed.includes(scope))
    if (found) {
      if (given.length === 0 || result?.consent) return found
      const before = found.getResourceScope(resourceOf(audienceOf(config, registered))).split(' ')
      if (given.every((scope) => before.includes(scope))) return found
      grantScopes(found, given, audienceOf(config, registered))
      await found.save()
      return found
    }
    if (given.length === 0) return undefined
    const grant = newGrant(provider, session.accountId, client.clientId, handedOf(ctx.req).signedIn?.sessionId)
    grantScopes(grant, given, audienceOf(config, registered))
    await grant.save()
    return grant
  }

/** A new grant; one that is made in a browser session (public id) can be saved only while that is there. */
export const newGrant = (provider: Provider, accountId: string, clientId: string, sessionId?: string): Grant =>
  new provider.Grant({ accountId, clientId, sessionId } as never)
