import Provider, { errors } from 'oidc-provider'
import type { Clock } from '../../../../platform/clock.ts'
import { limitedAddress } from '../../../../platform/http/client-address.ts'
import { budgetOfPeer } from '../../../../platform/http/peer-budget.ts'
import type { Counters } from '../../../../platform/limits/counters.ts'
import { tooManyRequests } from '../../../../platform/limits/too-many-requests.ts'
import { requestFactsOf } from '../browser.ts'
import { protocolRoutes } from '../paths.ts'
import { patch, patchAnswer } from './patch.ts'

type Find = Provider['DeviceCode']['findByUserCode']

export interface DeviceParts {
  clock: Clock
  counters: Counters
}

/** Minimum interval between two polls of a device, in seconds (RFC 8628 section 3.2). */
const interval = 5

/** A device that polls at the interval can be early, because its requests take different times. */
const tolerance = 500

const polls = { max: 1, window: interval * 1000 - tolerance, block: 'window' } as const

/** How long svc distinguishes an expired code from a wrong one, in seconds. */
const rememberedFor = 3_600

/** Maximum wrong user codes of a user, or of an address without a signed-in user (section 5.1). */
const wrongCodes = { max: 20, window: 3_600_000, block: 'window' } as const

/** Error with which the library renders the form for the code. */
class TooManyCodes extends errors.CustomOIDCProviderError {
  constructor() {
    super('slow_down', 'Too many wrong codes. Please try again later.')
    this.status = this.statusCode = 429
  }
}

/**
 * Adds to the device flow what the library leaves out: the interval, `slow_down`, and a limit on wrong user codes. Uses
 * the counters directly, because only the library knows the outcome of a poll and whether a user code exists.
 */
export function completeDeviceFlow(provider: Provider, { clock, counters }: DeviceParts): void {
  patchAnswer(provider, 'device-flow', 'adds interval and slow_down (RFC 8628)', async (ctx, next) => {
    // The user confirms the code in the form. The library's page would submit it by script.
    if (ctx.method === 'GET' && ctx.path === protocolRoutes.code_verification) {
      const { user_code: _, ...rest } = ctx.query
      ctx.query = rest
    }
    await next()
    const { body }: { body?: unknown } = ctx
    if (typeof body !== 'object' || body === null) return
    if (ctx.path === protocolRoutes.device_authorization && 'device_code' in body) {
      ctx.body = { ...body, interval }
    }
    if (ctx.path === protocolRoutes.token && 'error' in body && body.error === 'authorization_pending') {
      const code = String(ctx.oidc.params?.device_code ?? '')
      const { allowed } = await counters.hit(`device-poll:${code}`, polls, clock.now())
      if (allowed) return
      ctx.body = { error: 'slow_down', error_description: `Poll at most once every ${interval} seconds.` }
    }
  })

  patch<(this: object) => number>(
    provider,
    ['DeviceCode.prototype', 'remainingTTL'],
    'keeps expired codes for a while, to tell them from wrong ones',
    (remaining) =>
      function withMemory(this: object) {
        return remaining.call(this) + rememberedFor
      },
  )
  const findLimited = (find: Find) => async (code: string, options?: Parameters<Find>[1]) => {
    const { ctx } = Provider
    if (!ctx) return find(code, options)
    const { request, signedIn } = requestFactsOf(ctx.req)
    const key = `user_code:${signedIn ? `user ${signedIn.user.id}` : limitedAddress(request.ip)}`
    const now = clock.now()
    // Counts before the look-up, so that the limit holds for concurrent guesses.
    const rule = signedIn ? wrongCodes : budgetOfPeer(request, wrongCodes)
    const hit = await counters.hit(key, rule, now)
    if (!hit.allowed) {
      const { headers } = tooManyRequests({ max: rule.max, until: hit.until, now })
      ctx.set(headers)
      throw new TooManyCodes()
    }
    const found = await find(code, options)
    if (found) await counters.undo(key)
    return found
  }
  patch(provider, ['DeviceCode', 'findByUserCode'], 'limits wrong user codes', findLimited)
}
