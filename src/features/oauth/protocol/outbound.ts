import type { Config } from '../../../config/schema.ts'
import { AddressRanges } from '../../../plugins/addresses.ts'
import { type OutboundFetch, outboundFetch } from '../../../plugins/outbound.ts'
import { tracedFetch } from '../../../plugins/tracing/traced-fetch.ts'
import type { Tracing } from '../../../plugins/tracing/tracing.ts'

/**
 * How the library calls the URLs of clients: public addresses, the ranges of `outbound.allow_private`, and any address
 * for exactly the URLs of clients with `allow_private_addresses`.
 */
export function clientFetch({ clients, outbound }: Config, tracing: Tracing | null): OutboundFetch {
  const ranges = new AddressRanges(outbound.allow_private)
  const named = new Set(
    clients
      .filter((client) => client.allow_private_addresses)
      .flatMap(({ jwks_uri, backchannel_logout_uri }) => [jwks_uri, backchannel_logout_uri])
      .filter((uri) => uri !== undefined && uri !== null)
      .map((uri) => new URL(uri).href),
  )
  const fetch = outboundFetch((address, url) => ranges.has(address) || named.has(url.href))
  // The clients are the operator's: their logs may be put beside svc's.
  return tracedFetch(fetch, tracing, true)
}
