import Provider from 'oidc-provider'
import type { Metrics } from '../../../observability/metrics/metrics.ts'
import { configurationOf, type ProtocolParts } from './configuration.ts'
import { registerGrants } from './custom-grants.ts'
import { applyPatches, type PatchParts } from './patches/apply-patches.ts'
import type { SendLogout } from './patches/logout.ts'
import { logRefusals } from './refusal-logs.ts'
import { countTokens } from './token-counts.ts'

type LibraryParts = ProtocolParts & PatchParts & { metrics: Metrics | null }

/** The library with svc's configuration, patches, grants and listeners. */
export function buildProvider(parts: LibraryParts): { provider: Provider; sendLogout: SendLogout } {
  const { app, config, registry, findLive, metrics } = parts
  const provider = new Provider(config.app.url, configurationOf(parts))
  provider.proxy = true
  const sendLogout = applyPatches(provider, parts)
  registerGrants(provider, { app, config, registry, findLive })
  logRefusals(provider)
  if (metrics) countTokens(provider, metrics)
  return { provider, sendLogout }
}
