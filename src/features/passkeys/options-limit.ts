import type { FastifyRequest } from 'fastify'
import { tooManyRequests } from '../../errors.ts'
import { limitedAddress } from '../../http/client-address.ts'
import type { LimitRule } from '../../login/failure-limits.ts'

/** Anyone can request options, and each request stores a challenge. */
const rule: LimitRule = { max: 60, window: 60_000, block: 'window' }

/** Counts an options request by address. Throws 429 after 60 in a minute. */
export async function limitOptions(request: FastifyRequest): Promise<void> {
  const { clock, limits } = request.server
  const now = clock.now()
  const counted = await limits.reserve(`passkey-options:${limitedAddress(request.ip)}`, rule, now)
  if (counted.allowed) return
  throw tooManyRequests('Too Many Attempts.', Math.max(1, Math.ceil((counted.until - now) / 1000)), {
    headers: {
      'x-ratelimit-limit': String(rule.max),
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Math.ceil(counted.until / 1000)),
    },
  })
}
