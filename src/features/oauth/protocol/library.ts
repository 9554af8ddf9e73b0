import type { FastifyBaseLogger } from 'fastify'
import Provider from 'oidc-provider'
import { constantTimeEqual } from '../../../crypto/hash.ts'
import { deriveKeys } from '../../../crypto/keys.ts'
import type { AccessTokenClaims } from '../access-token.ts'
import { secretHash } from './clients.ts'
import { configurationOf, type ProtocolParts } from './configuration.ts'
import { registerGrants } from './custom-grants.ts'
import { followBrowserSessions } from './sessions.ts'
import { adaptTokenModels } from './token-models.ts'

interface LibraryParts extends ProtocolParts {
  log: FastifyBaseLogger
  findLive: (token: string) => Promise<AccessTokenClaims | null>
}

/** The library with everything of svc's in it: configuration, models, grants. */
export function buildProvider(parts: LibraryParts): Provider {
  const { config, registry, store, findLive, log } = parts
  const { url, secret: secrets } = config.app
  const [successorKey] = deriveKeys(secrets, 'refresh-successor')
  if (!successorKey) throw new Error('The OAuth server needs app.secret.')
  const provider = new Provider(url, configurationOf(parts))
  provider.proxy = true
  followBrowserSessions(provider)
  adaptTokenModels(provider, { store, successorKey, findLive })
  const { prototype } = provider.Client
  if (typeof prototype.compareClientSecret !== 'function')
    throw new Error('The OAuth library compares secrets elsewhere.')
  // What the registry holds are hashes.
  prototype.compareClientSecret = function compareHash(actual: string) {
    return constantTimeEqual(String(this.clientSecret), secretHash(actual))
  }
  registerGrants(provider, { config, registry, findLive })
  provider.on('server_error', (_ctx, error) => log.error({ err: error }, 'the OAuth server failed'))
  return provider
}
