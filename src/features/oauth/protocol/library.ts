import type { FastifyBaseLogger } from 'fastify'
import Provider from 'oidc-provider'
import { deriveKeys } from '../../../crypto/keys.ts'
import type { AccessTokenClaims } from '../access-token.ts'
import { adaptClientAuthentication } from './client-authentication.ts'
import type { ClientLimits } from './client-limits.ts'
import { configurationOf, type ProtocolParts } from './configuration.ts'
import { registerGrants } from './custom-grants.ts'
import { followBrowserSessions } from './sessions.ts'
import { adaptTokenModels } from './token-models.ts'

interface LibraryParts extends ProtocolParts {
  limits: ClientLimits
  log: FastifyBaseLogger
  findLive: (token: string) => Promise<AccessTokenClaims | null>
}

/** The library with everything of svc's in it: configuration, models, grants. */
export function buildProvider(parts: LibraryParts): Provider {
  const { config, registry, store, findLive, log, limits } = parts
  const { url, secret: secrets } = config.app
  const [successorKey] = deriveKeys(secrets, 'refresh-successor')
  if (!successorKey) throw new Error('The OAuth server needs app.secret.')
  const provider = new Provider(url, configurationOf(parts))
  provider.proxy = true
  followBrowserSessions(provider)
  adaptTokenModels(provider, { store, successorKey, findLive })
  registerGrants(provider, { config, registry, findLive })
  provider.on('server_error', (_ctx, error) => log.error({ err: error }, 'the OAuth server failed'))
  adaptClientAuthentication(provider, { registry, limits })
  return provider
}
