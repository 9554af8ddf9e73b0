import CircuitBreaker from 'opossum'
import type { Config } from '../../platform/config/schema.ts'
import { durationText } from '../../platform/config/units.ts'
import { randomId } from '../../platform/crypto/random.ts'
import { signedHeaders } from '../../platform/crypto/webhook-signature.ts'
import type { Dependency } from '../../platform/dependencies.ts'
import { AddressRanges } from '../../platform/http/addresses.ts'
import { outboundFetch, SharedConnections, UnreachableAddress } from '../../platform/http/outbound.ts'
import { tracedFetch } from '../../platform/observability/tracing/traced-fetch.ts'
import type { Tracing } from '../../platform/observability/tracing/tracing.ts'
import { version } from '../../platform/version.ts'
import { type Answer, answerReader } from './answer.ts'

/** Hooks that svc can ask. */
export type HookName = keyof Config['hooks']
export type HookSettings = NonNullable<Config['hooks'][HookName]> & { claims?: readonly string[] }

/** Number of calls that wait for one hook at once; others fail immediately. */
const capacity = 200

/**
 * A hook is not called for this many milliseconds after at least half of the last calls, and at least five, failed within ten
 * seconds. Then one call tries it again.
 */
const pause = 5_000
const breakerOptions = {
  errorThresholdPercentage: 50,
  volumeThreshold: 5,
  rollingCountTimeout: 10_000,
  resetTimeout: pause,
  capacity,
  // The request has its own.
  timeout: false,
} as const

export interface HookParts {
  name: HookName
  settings: HookSettings
  outbound: Config['outbound']
  state: Pick<Dependency, 'failed' | 'worked'>
  tracing: Tracing | null
  /** Unix milliseconds. */
  now(): number
}

/** A service of the operator that takes part in a decision. */
export class Hook {
  readonly #parts: HookParts
  readonly #connections = new SharedConnections()
  readonly #fetch: ReturnType<typeof outboundFetch>
  readonly #read: ReturnType<typeof answerReader>
  readonly #breaker: CircuitBreaker<[data: object], Answer>

  constructor(parts: HookParts) {
    const { name, settings, outbound, tracing } = parts
    this.#parts = parts
    this.#read = answerReader(name, settings.claims ?? [])
    const ranges = new AddressRanges(outbound.allow_private)
    const fetch = outboundFetch(
      () => outbound,
      (address) => ranges.has(address),
      { connections: this.#connections },
    )
    // The service belongs to the operator, who may correlate its log with that of svc.
    this.#fetch = tracedFetch(fetch, tracing, true)
    this.#breaker = new CircuitBreaker((data) => this.#call(data), breakerOptions)
  }

  /** Asks the service. Throws without a valid answer in time, and immediately after repeated failures. */
  ask(data: object): Promise<Answer> {
    return this.#breaker.fire(data)
  }

  /** Asks the service with a message that says that it is a test, also after failures. */
  test(data: object): Promise<Answer> {
    return this.#call(data, { test: true })
  }

  close(): void {
    this.#breaker.shutdown()
    this.#connections.close()
  }

  async #call(data: object, more: { test?: true } = {}): Promise<Answer> {
    const { name, settings, state, now } = this.#parts
    const at = now()
    const body = JSON.stringify({ type: name, timestamp: new Date(at).toISOString(), ...more, data })
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'user-agent': `svc/${version}`,
      ...signedHeaders(`msg_${randomId()}`, body, [settings.secret].flat(), at),
    }
    const signal = AbortSignal.timeout(settings.timeout)
    try {
      const response = await this.#fetch(settings.url, { method: 'POST', headers, body, signal })
      const answer = this.#read(response.status, await response.text())
      state.worked()
      return answer
    } catch (error) {
      const failure = signal.aborted
        ? new Error(`no answer within ${durationText(settings.timeout)}`)
        : explained(error)
      state.failed(failure)
      throw failure
    }
  }
}

/** Says what the operator can do about an error, if its text does not. */
function explained(error: unknown): unknown {
  if (!(error instanceof UnreachableAddress)) return error
  return new Error(`${error.message}; to allow it, list its network in outbound.allow_private`, { cause: error })
}
