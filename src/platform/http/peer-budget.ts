import type { FastifyRequest } from 'fastify'
import { AddressRanges, isPrivateAddress } from './addresses.ts'
import { canonicalAddress, clientAddress } from './client-address.ts'

/** A private address has this many times the budget of a public one, because it is usually a proxy that many users share. */
export const proxyShare = 10

/** The ranges of `server.trust_proxy`. */
const trusted = new WeakMap<readonly string[], AddressRanges>()

/**
 * Returns the budget of the address that sent a request. Only the connection decides: no header may raise a limit. An
 * address that a trusted proxy reported is a client's, even if it is private.
 */
export function budgetOfPeer<Budget extends { max: number }>(request: FastifyRequest, budget: Budget): Budget {
  const address = clientAddress(request)
  if (!isPrivateAddress(address) || address !== canonicalAddress(request.raw.socket.remoteAddress ?? '')) return budget
  const { trust_proxy } = request.server.config.current().server
  const ranges = trusted.get(trust_proxy) ?? new AddressRanges(trust_proxy)
  trusted.set(trust_proxy, ranges)
  return ranges.has(address) ? budget : { ...budget, max: proxyShare * budget.max }
}
