import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { limitedAddress } from '../../platform/http/client-address.ts'
import { budgetOfPeer } from '../../platform/http/peer-budget.ts'
import { methodsOf, type Step } from '../../platform/http/step.ts'
import { tooManyRequests } from '../../platform/limits/too-many-requests.ts'
import { isSafeMethod } from './cross-site.ts'

/** Maximum number of request bodies from one address that svc waits for at a time. It holds them in memory. */
const budget = { max: 256 }

/** Tests whether a request announces a body (RFC 9112 section 6.3). */
const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || !/^0*$/.test(headers['content-length'] ?? '')

/**
 * Limits the bodies that one address has begun and not finished. Each process counts its own: what the limit protects is
 * the memory of a process.
 */
export function openBodyLimit(): Step {
  const unfinished = new Map<string, number>()

  function begin(
    request: FastifyRequest,
    _reply: FastifyReply,
    payload: RequestPayload,
    done: (error: Error | null, payload?: RequestPayload) => void,
  ): unknown {
    const { raw, server } = request
    if (raw.complete || !hasBody(raw.headers)) return done(null, payload)
    const address = limitedAddress(request.ip)
    const begun = unfinished.get(address) ?? 0
    const { max } = budgetOfPeer(request, budget)
    const now = server.clock.now()
    if (begun >= max) return done(tooManyRequests({ max, until: now + 1_000, now }))
    unfinished.set(address, begun + 1)
    const end = (): void => {
      raw.off('end', end).off('close', end)
      const left = (unfinished.get(address) ?? 1) - 1
      if (left > 0) unfinished.set(address, left)
      else unfinished.delete(address)
    }
    raw.once('end', end).once('close', end)
    return done(null, payload)
  }

  return {
    name: 'unfinished bodies',
    phase: 'preParsing',
    answers: [429],
    hooksFor: (route) => (methodsOf(route).every(isSafeMethod) ? null : [begin]),
  }
}
