import type Provider from 'oidc-provider'
import type { Grant, KoaContextWithOIDC } from 'oidc-provider'
import type { Config } from '../../../platform/config/schema.ts'
import type { RegisteredClient, Registry } from '../clients/clients.ts'
import { servedScopes } from '../clients/scopes.ts'
import { namedTargets, type Target } from '../clients/targets.ts'
import { requestFactsOf } from './browser.ts'

/**
 * Tests whether a first-party client needs no consent: only if no other program can receive its codes. A public client
 * is identified by its https redirect URIs alone, so one without them needs consent.
 */
export function skipsConsent(client: RegisteredClient, config: Config): boolean {
  if (!client.first_party || client.application_type === 'native') return false
  if (client.type === 'confidential') return true
  const isDevelopment = config.app.environment === 'development'
  const isOwn = (uri: string) => uri.startsWith('https://') || (isDevelopment && uri.startsWith('http://'))
  return client.redirect_uris.length > 0 && client.redirect_uris.every(isOwn)
}

/** Tests for a device request of a public client. Any program can send one, so the user must consent each time. */
export const isUnprovenDevice = ({ oidc }: KoaContextWithOIDC, client: RegisteredClient | undefined): boolean =>
  client?.type === 'public' && (oidc.entities.DeviceCode !== undefined || oidc.route === 'device_resume')

/** Adds scopes to a grant: OpenID Connect scopes, and for each API its own. */
export function grantScopes(grant: Grant, scopes: Iterable<string>, targets: readonly Target[]): void {
  const openid = new Set<string>(servedScopes)
  const wanted = [...scopes]
  grant.addOIDCScope(wanted.filter((scope) => openid.has(scope)).join(' '))
  for (const { resource, tokenScopes } of targets)
    grant.addResourceScope(resource, wanted.filter((scope) => tokenScopes.has(scope)).join(' '))
}

/** Scopes that a user allowed a client before. */
type FindConsent = (userId: number, clientId: string) => Promise<readonly string[]>

/**
 * Grant of an authorization: the one from the consent page, or a new one with the remembered consent. Each
 * authorization has its own, so that revoking its tokens does not end other sign-ins of the client.
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
    const isOwn = skipsConsent(registered, config) && !isUnprovenDevice(ctx, registered)
    const allowed = isOwn ? asked : await findConsent(Number(session.accountId), client.clientId)
    const given = asked.filter((scope) => allowed.includes(scope))
    if (given.length === 0) return undefined
    const grant = newGrant(provider, {
      accountId: session.accountId,
      clientId: client.clientId,
      sessionId: requestFactsOf(ctx.req).signedIn?.sessionId,
      sessionUid: session.uid,
      endsWithSession:
        !ctx.oidc.route.startsWith('device_') &&
        ctx.oidc.route !== 'code_verification' &&
        !asked.includes('offline_access'),
    })
    grantScopes(grant, given, namedTargets(registry.targets(client.clientId), params?.resource))
    // Claims of scopes that the user allowed, or that need no consent, are allowed too.
    const isAllowed = (claim: string) => isOwn || allowed.includes(registry.scopeOfClaim(claim) ?? 'openid')
    grant.addOIDCClaims([...ctx.oidc.requestParamClaims].filter(isAllowed))
    // Other individual claims are not part of the remembered consent. They last as long as the session.
    const previous = params?.claims ? await provider.Grant.find(session.grantIdFor(client.clientId) ?? '') : undefined
    if (previous) grant.addOIDCClaims(previous.getOIDCClaims())
    await grant.save()
    return grant
  }

/** Owner and sessions of a new grant. */
interface GrantFacts {
  accountId: string
  clientId: string
  /** Browser session (public id). The grant can be saved only while it exists. */
  sessionId?: string | undefined
  /** OAuth session. */
  sessionUid?: string | undefined
  /** Whether the grant ends with that session: without offline access, and not for a device. */
  endsWithSession?: boolean
}

export const newGrant = (provider: Provider, facts: GrantFacts): Grant => new provider.Grant(facts as never)
