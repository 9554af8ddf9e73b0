import type { Report } from '../findings.ts'
import type { Config } from '../schema.ts'
import { managementScopes } from '../sections/admin.ts'

/** Rules about the section `apis`. */
export const apiChecks = [audiencesDiffer, scopesBelongToOneApi, lifetimesAreShort, clientAudiencesDiffer] as const

/** Scopes with a meaning in OpenID Connect or svc, and the ability that includes all others. */
const reservedScopes = ['openid', 'profile', 'email', 'offline_access', 'roles', 'groups', '*', ...managementScopes]

/** Maximum `token_ttl`, in milliseconds. An API does not notice the revocation of a token that it verifies itself. */
const maxTokenTtl = 86_400_000

/** Clients may send a resource in another spelling of the same URI, and with or without a slash at the end. */
const normalized = (audience: string): string => URL.parse(audience)?.href.replace(/\/+$/, '') ?? audience

function audiencesDiffer({ apis, oauth }: Config, report: Report): void {
  const owners = new Map([[normalized(oauth.audience), 'oauth.audience']])
  for (const [name, { audience }] of Object.entries(apis)) {
    const path = ['apis', name, 'audience']
    const owner = owners.get(normalized(audience))
    if (owner !== undefined) report(path, `must differ from ${owner} (found "${audience}")`)
    else owners.set(normalized(audience), `apis.${name}.audience`)
    if (audience.includes('#')) report(path, `must not have a fragment (found "${audience}")`)
  }
}

function scopesBelongToOneApi({ apis }: Config, report: Report): void {
  const owners = new Map<string, string>()
  for (const [name, { scopes, advertised_scopes }] of Object.entries(apis)) {
    for (const [index, scope] of (advertised_scopes ?? []).entries()) {
      if (scopes.includes(scope)) continue
      report(['apis', name, 'advertised_scopes', index], `must be one of apis.${name}.scopes (found "${scope}")`)
    }
    for (const [index, scope] of scopes.entries()) {
      const path = ['apis', name, 'scopes', index]
      const owner = owners.get(scope)
      if (owner !== undefined && owner !== name) report(path, `belongs to the API ${owner} already (found "${scope}")`)
      if (reservedScopes.includes(scope)) report(path, `must not be ${scope}, which is reserved`)
      owners.set(scope, owner ?? name)
    }
  }
}

function lifetimesAreShort({ apis }: Config, report: Report): void {
  for (const [name, { token_ttl }] of Object.entries(apis)) {
    if (token_ttl === null || token_ttl <= maxTokenTtl) continue
    report(['apis', name, 'token_ttl'], `must be at most 1d; refresh tokens renew access tokens`)
  }
}

/** Otherwise a client could get tokens with the audience of an API, but without the scopes and the algorithm of that API. */
function clientAudiencesDiffer({ apis, clients }: Config, report: Report): void {
  for (const [index, { audience }] of clients.entries()) {
    if (audience === null) continue
    const found = Object.entries(apis).find(([, api]) => normalized(api.audience) === normalized(audience))
    if (found)
      report(
        ['clients', index, 'audience'],
        `must differ from apis.${found[0]}.audience; list a scope of this API in scopes instead (found "${audience}")`,
      )
  }
}
