import type { FastifyInstance } from 'fastify'
import Provider from 'oidc-provider'
import { deriveKeys } from '../../../crypto/keys.ts'
import type { Limits } from '../../../login/failure-limits.ts'
import type { Metrics } from '../../../observability/metrics/metrics.ts'
import { settleScope } from './asked-scope.ts'
import { limitAssertions } from './assertions.ts'
import { limitIdTokenClaims } from './claims.ts'
import { adaptClientAuthentication } from './client-authentication.ts'
import { renewClientKeys } from './client-keys.ts'
import type { ClientLimits } from './client-limits.ts'
import { configurationOf, type ProtocolParts } from './configuration.ts'
import { adaptCookies } from './cookie-jar.ts'
import { completeDeviceFlow } from './custom-device.ts'
import { registerGrants } from './custom-grants.ts'
import { completeAnswers } from './documents.ts'
import { answerFailures } from './failures.ts'
import { allowFormTargets } from './form-targets.ts'
import { logRefusals } from './refusal-logs.ts'
import { adaptLogout, type SendLogout } from './rp-logout.ts'
import { followBrowserSessions, type SessionParts } from './sessions.ts'
import { countTokens } from './token-counts.ts'
import { adaptTokenModels, type TokenParts } from './token-models.ts'
import { tellAuthentication } from './told-authentication.ts'

interface LibraryParts extends ProtocolParts, SessionParts {
  limits: ClientLimits
  findLive: TokenParts['findLive']
  app: FastifyInstance
  codeLimits: Limits
  /** For how many seconds the published keys may be kept. */
  keysMaxAge: number
  metrics: Metrics | null
}

/** The library with everything of svc's in it: configuration, models, grants. */
export function buildProvider(parts: LibraryParts): { provider: Provider; sendLogout: SendLogout } {
  const { config, registry, findLive, limits } = parts
  const { url, secret: secrets } = config.app
  const [successorKey] = deriveKeys(secrets, 'refresh-successor')
  if (!successorKey) throw new Error('The OAuth server needs app.secret.')
  const provider = new Provider(url, configurationOf(parts))
  provider.proxy = true
  adaptCookies(provider, parts.cookies, parts.carried)
  followBrowserSessions(provider, parts)
  tellAuthentication(provider)
  const sendLogout = adaptLogout(provider, parts)
  adaptTokenModels(provider, { ...parts, successorKey })
  settleScope(provider, config, registry)
  completeDeviceFlow(provider, parts)
  completeAnswers(provider, config, parts.keysMaxAge)
  registerGrants(provider, { config, registry, findLive })
  limitIdTokenClaims(provider, config, registry)
  logRefusals(provider)
  answerFailures(provider)
  allowFormTargets(provider)
  adaptClientAuthentication(provider, { registry, limits })
  limitAssertions(provider)
  renewClientKeys(provider, parts.clock)
  if (parts.metrics) countTokens(provider, parts.metrics)
  return { provider, sendLogout }
}
