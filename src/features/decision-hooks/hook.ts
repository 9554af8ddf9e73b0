import { FairQueue } from '../../auth/sign-in/fair-queue.ts'
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
import { type Answer, answerReader, UnusableAnswer } from './answer.ts'
import { Breaker } from './breaker.ts'
import { TooManyQuestions } from './too-many-questions.ts'

/** Hooks that svc can ask. */
export type HookName = keyof Config['hooks']
export type HookSettings = NonNullable<Config['hooks'][HookName]> & { claims?: readonly string[] }

/** Number of calls at once. Others wait, in all and for one user, client or address. */
const maxCalls = 100
const maxWaiting = { all: 500, lane: 50 }

/** A question that waits for its turn; `null` lets it begin. */
type Waiter = (refusal: TooManyQuestions | null) => void

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
  readonly #breaker = new Breaker()
  readonly #queue = new FairQueue<Waiter>(maxWaiting)
  #calls = 0
  #isClosing = false

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
  }

  /**
   * Asks the service; questions with the same key take turns with others. Throws without a valid answer in time, and
   * immediately after repeated failures. Throws `TooManyQuestions` if too many wait.
   */
  async ask(data: object, key: string): Promise<Answer> {
    await this.#turn(key)
    try {
      if (!this.#breaker.admits()) throw new Error('The hook is not called, because it failed repeatedly.')
      return await this.#watched(data)
    } finally {
      const next = this.#queue.take()
      if (next) next(null)
      else this.#calls--
      if (this.#isClosing) this.close()
    }
  }

  async #turn(key: string): Promise<void> {
    if (this.#calls < maxCalls) {
      this.#calls++
      return
    }
    const lane = { kind: 'address', key } as const
    if (this.#queue.isFull(lane)) throw new TooManyQuestions()
    const refusal = await new Promise<TooManyQuestions | null>((decide) => {
      this.#queue.add(lane, decide)?.(new TooManyQuestions())
    })
    if (refusal) throw refusal
  }

  async #watched(data: object): Promise<Answer> {
    try {
      const answer = await this.#call(data)
      this.#breaker.succeeded()
      return answer
    } catch (error) {
      // A quick but wrong answer delays nobody, and the requests of one user may cause it.
      if (error instanceof UnusableAnswer) this.#breaker.succeeded()
      else this.#breaker.failed()
      throw error
    }
  }

  /** Asks the service with a message that says that it is a test, also after failures. */
  test(data: object): Promise<Answer> {
    return this.#call(data, { test: true })
  }

  /** Closes the connections when no question waits for an answer any more. */
  close(): void {
    this.#isClosing = true
    if (this.#calls === 0) this.#connections.close()
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
