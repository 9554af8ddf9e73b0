import type { FastifyInstance } from 'fastify'
import type { DecisionKind, DecisionLog } from '../../auth/sign-in/decision-log.ts'
import { type RecordedDecision, saveBatch } from './store.ts'

/** Interval between writes, in milliseconds. */
const writeInterval = 5_000

/**
 * Limits, so that requests with ever new paths cannot fill the disk: different decisions of a batch, the characters of their
 * facts, and those of one decision. Requests without a valid credential get a quarter of the first two.
 */
const [maxDecisions, maxCharacters, maxLength] = [1_000, 524_288, 2_048]

/** Collects decisions, counts equal ones, and writes them every few seconds. */
export class DecisionRecorder implements DecisionLog {
  readonly #app: FastifyInstance
  readonly #timer: NodeJS.Timeout
  #collected = new Map<string, RecordedDecision>()
  #characters = { known: 0, unknown: 0 }
  #counts = { known: 0, unknown: 0 }
  #missed = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(app: FastifyInstance) {
    this.#app = app
    this.#timer = setInterval(() => void this.flush(), writeInterval).unref()
  }

  wants(): boolean {
    const { enabled, sample } = this.#app.config.current().audit.decisions
    return enabled && (sample === 1 || Math.random() * sample < 1)
  }

  record(kind: DecisionKind, facts: object, { isKnown }: { isKnown: boolean }): void {
    const key = kind + JSON.stringify(facts)
    const at = this.#app.clock.now()
    const known = this.#collected.get(key)
    if (known) {
      known.count++
      known.at = at
      return
    }
    const who = isKnown ? 'known' : 'unknown'
    const share = isKnown ? 1 : 1 / 4
    const isFull =
      this.#counts[who] >= maxDecisions * share || this.#characters[who] + key.length > maxCharacters * share
    if (isFull || key.length > maxLength) {
      this.#missed++
      return
    }
    this.#characters[who] += key.length
    this.#counts[who]++
    this.#collected.set(key, { kind, at, count: 1, facts })
  }

  /** Writes the collected decisions. A failure is logged, and counts them as missed. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  /** Writes the remaining decisions and stops. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #write(): Promise<void> {
    if (this.#collected.size === 0 && this.#missed === 0) return
    const batch = { decisions: [...this.#collected.values()], missed: this.#missed }
    this.#collected = new Map()
    this.#characters = { known: 0, unknown: 0 }
    this.#counts = { known: 0, unknown: 0 }
    this.#missed = 0
    const { database, config, clock, log } = this.#app
    try {
      await saveBatch(database, config.current().app.secret, batch, clock.now())
    } catch (error) {
      this.#missed += batch.missed + batch.decisions.reduce((sum, { count }) => sum + count, 0)
      log.warn({ err: error, decisions: batch.decisions.length }, 'could not record the decisions of the last seconds')
    }
  }
}
