import type { FastifyInstance } from 'fastify'
import { createRemoteJWKSet, customFetch as fetchKeys } from 'jose'
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  customFetch,
  discovery,
} from 'openid-client'
import type { Clock } from '../../../platform/clock.ts'
import type { CurrentConfig } from '../../../platform/config/current.ts'
import type { Dependencies } from '../../../platform/dependencies.ts'
import { AddressRanges } from '../../../platform/http/addresses.ts'
import { outboundFetch } from '../../../platform/http/outbound.ts'
import { tracedFetch } from '../../../platform/observability/tracing/traced-fetch.ts'
import type { Tracing } from '../../../platform/observability/tracing/tracing.ts'
import { appleSecret } from './apple-secret.ts'
import type { ProviderConfig, SocialProvider } from './provider.ts'
import { requireTokens } from './provider-error.ts'

/** A connection to a provider. */
interface Connection {
  configuration: Configuration
  /** Keys that verify its ID tokens; null for plain OAuth 2.0. */
  keys: ProviderKeys | null
}

/** The published keys of a provider. */
export type ProviderKeys = ReturnType<typeof createRemoteJWKSet>

interface Attempt {
  /** Unix milliseconds. */
  until: number
  made: Promise<Connection>
}

/** How long a discovery document is cached, in milliseconds. */
const documentTtl = 3_600_000

/** How long published keys are cached, in milliseconds. */
const keysTtl = 300_000

/** Minimum interval between fetches for unknown keys, in milliseconds. */
const keyPause = 10_000

/** Retry delay for an unreachable provider, in milliseconds. */
const retryDelay = 15_000

/**
 * Connections to providers, created on first use. An unreachable provider fails alone, and is retried on the next use.
 */
export class Connections {
  readonly #config: CurrentConfig
  readonly #clock: Clock
  readonly #tracing: Tracing | null
  readonly #dependencies: Dependencies
  /** By the provider's configuration, so that a changed provider reconnects. */
  readonly #made = new WeakMap<ProviderConfig, Attempt>()

  constructor(parts: Pick<FastifyInstance, 'config' | 'clock' | 'tracing' | 'dependencies'>) {
    this.#config = parts.config
    this.#clock = parts.clock
    this.#tracing = parts.tracing
    this.#dependencies = parts.dependencies
  }

  /** Returns the connection to a provider. Rejects if its discovery document is unavailable. */
  async to(provider: SocialProvider): Promise<Connection> {
    const now = this.#clock.now()
    const known = this.#made.get(provider.config)
    if (known && now < known.until) return known.made
    const made = this.#connect(provider, now)
    const attempt = { until: now + documentTtl, made }
    this.#made.set(provider.config, attempt)
    try {
      return await made
    } catch (error) {
      // Delays the retries of concurrent requests too.
      attempt.until = now + retryDelay
      // Keeps using the outdated document while the provider is unreachable.
      if (!known) throw error
      attempt.made = known.made
      return known.made
    }
  }

  async #connect(provider: SocialProvider, now: number): Promise<Connection> {
    const { config, endpoints, issuer } = provider
    const fetch = this.#fetchFor(provider)
    const secret = provider.id === 'apple' ? await appleSecret(config, now) : (config.client_secret ?? '')
    const urls = endpoints ? Object.values(endpoints) : [issuer]
    const isPlain = urls.some((url) => url.startsWith('http:'))
    if (!endpoints) {
      const authentication = chosenByServer(secret, provider.clientAuthentication)
      const configuration = await discovery(new URL(issuer), config.client_id, undefined, authentication, {
        [customFetch]: fetch,
        execute: isPlain ? [allowInsecureRequests] : [],
      })
      const { jwks_uri } = requireEndpoints(configuration, isPlain)
      const keys = createRemoteJWKSet(new URL(jwks_uri), {
        cacheMaxAge: keysTtl,
        cooldownDuration: keyPause,
        [fetchKeys]: (url, init) => fetch(url, { ...init, headers: Object.fromEntries(init.headers), body: undefined }),
      })
      return { configuration, keys }
    }
    const server = {
      issuer: new URL(endpoints.authorization).origin,
      authorization_endpoint: endpoints.authorization,
      token_endpoint: endpoints.token,
      userinfo_endpoint: endpoints.userinfo,
    }
    const authentication = provider.clientAuthentication === 'basic' ? ClientSecretBasic : ClientSecretPost
    const configuration = new Configuration(server, config.client_id, undefined, authentication(secret))
    configuration[customFetch] = fetch
    if (isPlain) allowInsecureRequests(configuration)
    return { configuration, keys: null }
  }

  #fetchFor({ id, config: provider }: SocialProvider): CustomFetch {
    const state = this.#dependencies.of(`provider:${id}`)
    // Read on each call, because a connection outlives a configuration.
    const outbound = () => this.#config.current().outbound
    const isListed = (address: string) => new AddressRanges(outbound().allow_private).has(address)
    const reach = outboundFetch(outbound, (address) => provider.allow_private_addresses || isListed(address))
    const fetch = tracedFetch(reach, this.#tracing, false)
    return async (url, { method, headers, body, signal }) => {
      const sent = { method, headers, ...(body ? { body } : {}), ...(signal ? { signal } : {}) }
      const response = await fetch(url, sent).catch((error) => {
        state.failed(error)
        throw error
      })
      if (response.status >= 500) state.failed(`${new URL(url).host} answered ${response.status}`)
      else state.worked()
      // Only requests for tokens have this method.
      if (method === 'POST') await requireTokens(response)
      return response
    }
  }
}

/** Returns the URL of the keys. Throws unless every endpoint of the discovery document is allowed. */
function requireEndpoints(made: Configuration, isPlain: boolean): { jwks_uri: string } {
  const { authorization_endpoint, token_endpoint, jwks_uri = '', userinfo_endpoint } = made.serverMetadata()
  const urls = [authorization_endpoint, token_endpoint, jwks_uri, ...(userinfo_endpoint ? [userinfo_endpoint] : [])]
  for (const url of urls) {
    const protocol = URL.parse(url ?? '')?.protocol
    if (protocol === 'https:' || (isPlain && protocol === 'http:')) continue
    throw new Error('the discovery document names no usable endpoints')
  }
  return { jwks_uri }
}

/**
 * Uses the preferred authentication method, or the other one if the server supports only that (RFC 6749 section 2.3.1).
 */
const chosenByServer = (secret: string, preferred: 'basic' | 'body'): ClientAuth => {
  const [basic, body] = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  return (server, ...rest) => {
    const taken = server.token_endpoint_auth_methods_supported
    const takes = (method: string) => taken?.includes(method) ?? false
    const isOther = preferred === 'basic' ? takes('client_secret_post') : takes('client_secret_basic')
    const isPreferred = preferred === 'basic' ? takes('client_secret_basic') : takes('client_secret_post')
    const used = isOther && !isPreferred ? (preferred === 'basic' ? 'body' : 'basic') : preferred
    const authenticate = used === 'basic' ? basic : body
    authenticate(server, ...rest)
  }
}
