import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../../../platform/config/schema.ts'
import { AddressRanges } from '../../../platform/http/addresses.ts'
import { type OutboundFetch, outboundFetch, UnreachableAddress } from '../../../platform/http/outbound.ts'
import { tracedFetch } from '../../../platform/observability/tracing/traced-fetch.ts'
import type { Tracing } from '../../../platform/observability/tracing/tracing.ts'

/**
 * Outbound requests of the library to URLs of clients: to public addresses, to the ranges of `outbound.allow_private`,
 * and to any address for the URLs of clients with `allow_private_addresses`.
 */
export function clientFetch(
  { clients, outbound }: Config,
  tracing: Tracing | null,
  log: Pick<FastifyBaseLogger, 'warn'>,
): OutboundFetch {
  const ranges = new AddressRanges(outbound.allow_private)
  const named = new Set(
    clients
      .filter((client) => client.allow_private_addresses)
      .flatMap(({ jwks_uri, backchannel_logout_uri }) => [jwks_uri, backchannel_logout_uri])
      .filter((uri) => uri !== undefined && uri !== null)
      .map((uri) => new URL(uri).href),
  )
  const fetch = outboundFetch(
    () => outbound,
    (address, url) => ranges.has(address) || named.has(url.href),
  )
  // The clients belong to the operator, who may correlate their logs with those of svc.
  const traced = tracedFetch(fetch, tracing, true)
  return async (input, init) => {
    try {
      return await traced(input, init)
    } catch (error) {
      const { origin, pathname, href } = new URL(input instanceof Request ? input.url : input)
      const owner = clients.find((client) =>
        [client.jwks_uri, client.backchannel_logout_uri].some((uri) => uri && new URL(uri).href === href),
      )
      const reason = error instanceof Error ? error.message : String(error)
      const isRefused = error instanceof UnreachableAddress
      const key = isRefused
        ? `clients[client_id=${owner?.client_id}].allow_private_addresses or outbound.allow_private`
        : null
      const facts = { client: owner?.client_id ?? null, url: origin + pathname, reason, config_key: key }
      log.warn(
        facts,
        `Outbound call ${isRefused ? 'refused' : 'failed'}: ${reason}${key === null ? '' : `; see ${key}`}`,
      )
      throw error
    }
  }
}
