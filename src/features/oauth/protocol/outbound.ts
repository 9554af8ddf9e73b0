import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../../../platform/config/schema.ts'
import { AddressRanges } from '../../../platform/http/addresses.ts'
import { type OutboundFetch, outboundFetch, UnreachableAddress } from '../../../platform/http/outbound.ts'
import { tracedFetch } from '../../../platform/observability/tracing/traced-fetch.ts'
import type { Tracing } from '../../../platform/observability/tracing/tracing.ts'

/**
 * Outbound requests of the library to URLs of clients: to public addresses, to the ranges of `outbound.allow_private`,
 * and to any address for the URLs of registered clients with `allow_private_addresses`.
 */
export function clientFetch(
  { clients, outbound }: Config,
  tracing: Tracing | null,
  log: Pick<FastifyBaseLogger, 'warn'>,
): OutboundFetch {
  const ranges = new AddressRanges(outbound.allow_private)
  const ownerOf = (href: string) =>
    clients.find((client) =>
      [client.jwks_uri, client.backchannel_logout_uri].some((uri) => uri && new URL(uri).href === href),
    )
  const fetch = outboundFetch(
    () => outbound,
    (address, url) => ranges.has(address) || ownerOf(url.href)?.allow_private_addresses === true,
  )
  // Registered clients belong to the operator, who may correlate their logs with those of svc.
  const toClient = tracedFetch(fetch, tracing, true)
  const toStranger = tracedFetch(fetch, tracing, false)
  return async (input, init) => {
    const { origin, pathname, href } = new URL(input instanceof Request ? input.url : input)
    const owner = ownerOf(href)
    const headers = new Headers(init?.headers)
    // Some hosts serve keys only as their own type (RFC 7517 section 8.5), and the library accepts JSON alone.
    if (headers.get('accept') === 'application/json') headers.append('accept', 'application/jwk-set+json')
    try {
      return await (owner ? toClient : toStranger)(input, { ...init, headers })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const isRefused = error instanceof UnreachableAddress
      const own = owner ? `clients[client_id=${owner.client_id}].allow_private_addresses or ` : ''
      const key = isRefused ? `${own}outbound.allow_private` : null
      const facts = { client: owner?.client_id ?? null, url: origin + pathname, reason, config_key: key }
      log.warn(
        facts,
        `Outbound call ${isRefused ? 'refused' : 'failed'}: ${reason}${key === null ? '' : `; see ${key}`}`,
      )
      throw error
    }
  }
}
