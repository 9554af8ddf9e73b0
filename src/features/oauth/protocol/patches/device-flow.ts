import Provider, { errors } from 'oidc-provider'
import type { Clock } from '../../../../clock.ts'
import { limitedAddress } from '../../../../http/client-address.ts'
import type { Limits } from '../../../../login/failure-limits.ts'
import { handedOf } from '../browser.ts'
import { protocolRoutes } from '../paths.ts'
import { type RecordStore, recordId } from '../store.ts'
import { patch, patchAnswer } from './patch.ts'

type Find = Provider['DeviceCode']['findByUserCode']

export interface DeviceParts {
  store: RecordStore
  clock: Clock
  codeLimits: Limits
}

/** How long a device waits between two questions, in seconds (RFC 8628 section 3.2). */
const interval = 5

/** How long an expired code is told from a wrong one, in seconds. */
const rememberedFor = 3_600

/** How many wrong user codes one person, or one address that nobody is signed in from, may enter (section 5.1). */
const wrongCodes = { max: 20, window: 3_600_000, block: 'window' } as const

/** Too many wrong user codes were entered. */
class TooManyCodes extends errors.CustomOIDCProviderError {
  constructor() {
    super('slow_down', 'Too many wrong codes. Please try again later.')
    this.status = this.statusCode = 429
  }
}

/** Adds to the device flow what the library leaves out: the interval, `slow_down`, and a limit to guessing user codes. */
export function completeDeviceFlow(provider: Provider, { store, clock, codeLimits }: DeviceParts): void {
  patchAnswer(provider, 'device-flow', 'adds interval and slow_down (RFC 8628)', async (ctx, next) => {
    // The person sees the code in the form and sends it themselves: the library's page would send it by script.
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
      const now = clock.now()
      if (await store.poll(recordId('DevicePoll', code), now, interval * 1000)) return
      ctx.body = { error: 'slow_down', error_description: `Please ask once in ${interval} seconds at most.` }
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
    const { request, signedIn } = handedOf(ctx.req)
    const key = `user_code:${signedIn ? `user ${signedIn.user.id}` : limitedAddress(request.ip)}`
    // Counted before it is looked up: of many guesses at one moment no more are answered than of many in a row.
    const counted = await codeLimits.reserve(key, wrongCodes, clock.now())
    if (!counted.allowed) throw new TooManyCodes()
    const found = await find(code, options)
    if (found) await codeLimits.release(key)
    return found
  }
  patch(provider, ['DeviceCode', 'findByUserCode'], 'limits wrong user codes', findLimited)
}
