import type { FastifyReply, FastifyRequest } from 'fastify'
import { HttpError } from '../../platform/errors.ts'
import type { Metrics, Verdict } from '../../platform/observability/metrics/metrics.ts'

/** Finds the caller of a request or throws. */
type FindCaller = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** Classifies an error: no credential, an invalid one, or no lookup possible. */
function verdictOf(error: unknown): Verdict {
  if (!(error instanceof HttpError) || error.statusCode !== 401) return 'error'
  return error.headers['www-authenticate']?.includes('error=') ? 'invalid' : 'none'
}

/** Wraps a search to count and time it. */
export const counted =
  (find: FindCaller, family: string, metrics: Metrics): FindCaller =>
  async (request, reply) => {
    const begin = performance.now()
    let verdict: Verdict = 'error'
    try {
      const answer = await find(request, reply)
      verdict = request.caller?.kind ?? 'none'
      return answer
    } catch (error) {
      verdict = verdictOf(error)
      throw error
    } finally {
      metrics.verdict(family, verdict, (performance.now() - begin) / 1000)
    }
  }
