import type { JWTPayload } from 'jose'
import Provider from 'oidc-provider'
import type { Metrics } from '../../../platform/observability/metrics/metrics.ts'
import type { Algorithm } from '../keys/jwk.ts'
import { configurationOf, type ProtocolParts } from './configuration.ts'
import { CookieRecords } from './cookie-records.ts'
import { registerGrants } from './custom-grants.ts'
import { findDocumentClient, keepErrorsFromDocumentClients } from './document-client.ts'
import { applyPatches, type PatchParts } from './patches/apply-patches.ts'
import type { SendLogout } from './patches/logout.ts'
import { PendingLimits } from './pending-limits.ts'
import { recordTokenDecisions } from './recorded-tokens.ts'
import { logRefusals } from './refusal-logs.ts'
import { ClientCredentials } from './shortcuts/client-credentials.ts'
import { UserInfo, type UserInfoParts } from './shortcuts/user-info.ts'
import { UserTokens } from './shortcuts/user-tokens.ts'
import { countTokens } from './token-counts.ts'

type LibraryParts = Omit<ProtocolParts & PatchParts, 'cookieRecords' | 'pending' | 'findDocumentClient'> & {
  metrics: Metrics | null
  sign(claims: JWTPayload, algorithm: Algorithm, typ?: string | null): Promise<string>
  findLiveWithGrant: UserInfoParts['findLiveWithGrant']
}

interface Library {
  provider: Provider
  sendLogout: SendLogout
  clientCredentials: ClientCredentials
  userInfo: UserInfo
  userTokens: UserTokens
}

/** The library with svc's configuration, patches, grants and listeners. */
export function buildProvider(given: LibraryParts): Library {
  const { app, config, registry, findLive, metrics } = given
  const parts = {
    ...given,
    cookieRecords: new CookieRecords(config.app.secret, app.cookies, app.clock),
    pending: new PendingLimits(app),
    findDocumentClient: findDocumentClient(given),
  }
  const provider = new Provider(config.app.url, configurationOf(parts))
  provider.proxy = true
  const sendLogout = applyPatches(provider, parts)
  registerGrants(provider, { app, config, registry, findLive })
  logRefusals(provider)
  recordTokenDecisions(provider)
  keepErrorsFromDocumentClients(provider, registry)
  if (metrics) countTokens(provider, metrics)
  return {
    ...{ provider, sendLogout, userInfo: new UserInfo(parts) },
    clientCredentials: new ClientCredentials(parts),
    userTokens: new UserTokens(parts),
  }
}
