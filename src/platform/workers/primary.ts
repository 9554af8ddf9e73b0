import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { MemoryCounters } from '../limits/memory-counters.ts'
import type { BootFile } from './boot-files.ts'
import { workerArgument } from './link.ts'
import type { MetricsOfProcess, ToPrimary, ToWorker } from './messages.ts'
import { combined, type ReloadResult } from './reload-result.ts'
import { countFor } from './shared-counters.ts'
import type { WorkerMetrics } from './worker-metrics.ts'

/** If a readiness check arrived within this time, a load balancer uses it. In milliseconds. */
const checkedWithin = 60_000

/** A worker that runs for this long did not crash on start, in milliseconds. */
const stableAfter = 60_000

/** Delays before a worker that crashes repeatedly is replaced, in milliseconds. The first replacement starts at once. */
const backOff = { first: 1_000, max: 30_000 }

/** Delay before a worker that received a signal is replaced: the signal may go to all processes. In milliseconds. */
const signalDelay = 200

/** How long the primary waits for the metrics of a worker, in milliseconds. Then it uses the previous metrics. */
const metricsTimeout = 3_000

/** The place of one worker, which its replacements take over. */
interface Slot {
  number: number
  /** Consecutive crashes. */
  crashes: number
}

/** A running worker. */
interface Member {
  slot: Slot
  worker: Worker
  startedAt: number
  isListening: boolean
  /** The worker stops, and its replacement has started or will start. */
  isLeaving: boolean
  /** The worker to stop once this one listens. */
  predecessor: Member | null
  lastMetrics: MetricsOfProcess
  metricsTaken: ((metrics: MetricsOfProcess) => void)[]
  /** Reloads without a result so far, by id. */
  reloads: Map<number, (result: ReloadResult | null) => void>
}

interface PrimaryParts {
  count: number
  /** On which svc listens. */
  port: number
  files: readonly BootFile[]
  log: FastifyBaseLogger
  metrics: WorkerMetrics | null
}

/** The worker that svc starts first could not start. It has printed why. */
export class FirstWorkerError extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super('the first worker did not start')
    this.exitCode = exitCode
  }
}

/**
 * Starts the workers, and replaces those that end. All workers accept connections from the same socket. If a worker ends
 * before it accepts a connection, another worker accepts it.
 */
export class Primary {
  readonly #parts: PrimaryParts
  readonly #counters = new MemoryCounters()
  readonly #members = new Set<Member>()
  #started = Promise.withResolvers<void>()
  #hasStarted = false
  #isStopping = false
  #hasFailed = false
  #allGone = Promise.withResolvers<void>()
  #reloaded: readonly BootFile[] | null = null
  #checkedAt = Number.NEGATIVE_INFINITY
  #reloads = 0

  constructor(parts: PrimaryParts) {
    this.#parts = parts
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ args: [...process.argv.slice(2), workerArgument] })
  }

  /** Starts the first worker, which migrates the database, and then the others. Throws if the first one cannot start. */
  async start(): Promise<void> {
    this.#begin({ number: 1, crashes: 0 })
    await this.#started.promise
    if (this.#isStopping) return
    for (let number = 2; number <= this.#parts.count; number++) this.#begin({ number, crashes: 0 })
  }

  /** Makes all workers reload the configuration, and returns what they did. */
  async reload(): Promise<ReloadResult> {
    const id = ++this.#reloads
    const results = [...this.#members].map((member) => {
      const { promise, resolve } = Promise.withResolvers<ReloadResult | null>()
      // A worker that is still starting returns no result, because it reads the current files later.
      if (member.isListening) member.reloads.set(id, resolve)
      else resolve(null)
      this.#send(member, { type: 'reload', id })
      return promise
    })
    const answered = (await Promise.all(results)).filter((result) => result !== null)
    if (answered.length > 0) return combined(answered)
    return { accepted: false, problems: ['svc is starting or stopping; try again'] }
  }

  /** Stops all workers together. Returns whether all of them completed their requests. */
  async stop(): Promise<boolean> {
    this.#isStopping = true
    const isLoadBalanced = performance.now() - this.#checkedAt < checkedWithin
    for (const member of this.#members) {
      if (member.isListening) this.#send(member, { type: 'stop', isWhole: true, isLoadBalanced })
      else member.worker.process.kill('SIGKILL')
    }
    if (this.#members.size > 0) await this.#allGone.promise
    return !this.#hasFailed
  }

  /** Ends workers that do not stop. */
  kill(): void {
    for (const { worker } of this.#members) worker.process.kill('SIGKILL')
  }

  /** Number of workers that serve requests. */
  readonly running = (): number => [...this.#members].filter(({ isListening }) => isListening).length

  /** Returns the metrics of each worker. */
  metrics(): Promise<MetricsOfProcess[]> {
    const isServing = ({ isListening }: Member) => isListening
    return Promise.all([...this.#members].filter(isServing).map((member) => this.#metricsOf(member)))
  }

  #begin(slot: Slot, predecessor: Member | null = null): void {
    const worker = cluster.fork()
    const member: Member = {
      slot,
      worker,
      startedAt: performance.now(),
      isListening: false,
      isLeaving: false,
      predecessor,
      lastMetrics: [],
      metricsTaken: [],
      reloads: new Map(),
    }
    this.#members.add(member)
    worker.on('message', (message: ToPrimary) => this.#receive(member, message))
    worker.on('listening', ({ port }) => {
      // The port of the guard opens first.
      if (port === this.#parts.port) this.#listening(member)
    })
    worker.once('exit', (code, signal) => this.#ended(member, code, signal))
    const { count, files } = this.#parts
    this.#send(member, {
      type: 'boot',
      number: slot.number,
      count,
      isFirst: !this.#hasStarted,
      files,
      reloaded: this.#reloaded,
    })
  }

  #listening(member: Member): void {
    member.isListening = true
    this.#hasStarted = true
    this.#started.resolve()
    const { predecessor } = member
    member.predecessor = null
    if (predecessor && this.#members.has(predecessor) && !this.#isStopping) {
      this.#send(predecessor, { type: 'stop', isWhole: false, isLoadBalanced: false })
    }
  }

  #receive(member: Member, message: ToPrimary): void {
    if (message.type === 'readiness-checked') this.#checkedAt = performance.now()
    if (message.type === 'reloaded') this.#reloaded = message.files
    if (message.type === 'reload-result') {
      member.reloads.get(message.id)?.(message.result)
      member.reloads.delete(message.id)
    }
    if (message.type === 'metrics') {
      member.lastMetrics = message.metrics
      for (const take of member.metricsTaken.splice(0)) take(message.metrics)
    }
    if (message.type === 'count') {
      void countFor(this.#counters, message.calls).then((results) =>
        this.#send(member, { type: 'counted', id: message.id, results }),
      )
    }
    if (message.type === 'leaving') void this.#replace(member, message.hasFailed)
  }

  /** Replaces a worker. If it still works, it stops once its replacement listens. */
  async #replace(member: Member, hasFailed: boolean): Promise<void> {
    if (this.#isStopping || member.isLeaving) return
    if (hasFailed) {
      member.isLeaving = true
      return this.#restart(member, 'worker failed, replacing it')
    }
    await sleep(signalDelay)
    if (this.#isStopping || member.isLeaving || !this.#members.has(member)) return
    if (!member.isListening) return void member.worker.process.kill('SIGKILL')
    member.isLeaving = true
    this.#parts.log.info({ worker: member.slot.number }, 'worker asked to stop, replacing it')
    this.#begin(member.slot, member)
  }

  #ended(member: Member, code: number | null, signal: string | null): void {
    this.#members.delete(member)
    this.#parts.metrics?.keep(member.lastMetrics)
    for (const take of member.metricsTaken.splice(0)) take([])
    for (const take of member.reloads.values()) take(null)
    if (code !== 0 && this.#isStopping && member.isListening) this.#hasFailed = true
    if (this.#isStopping) {
      this.#started.resolve()
      if (this.#members.size === 0) this.#allGone.resolve()
      return
    }
    if (!this.#hasStarted) this.#started.reject(new FirstWorkerError(code ?? 1))
    else if (!member.isLeaving) this.#restart(member, 'worker ended unexpectedly, replacing it', { code, signal })
  }

  /** Starts the replacement of a worker that crashed: at once, or later if it crashes repeatedly. */
  #restart({ slot, startedAt, predecessor, worker }: Member, text: string, how: object = {}): void {
    slot.crashes = performance.now() - startedAt < stableAfter ? slot.crashes + 1 : 1
    const delay = slot.crashes === 1 ? 0 : Math.min(backOff.max, backOff.first * 2 ** (slot.crashes - 2))
    this.#parts.metrics?.crashed()
    this.#parts.log.error({ worker: slot.number, pid: worker.process.pid, ...how, replaced_after_ms: delay }, text)
    setTimeout(() => {
      if (!this.#isStopping) this.#begin(slot, predecessor)
    }, delay)
  }

  async #metricsOf(member: Member): Promise<MetricsOfProcess> {
    const timer = new AbortController()
    const answer = new Promise<MetricsOfProcess>((resolve) => member.metricsTaken.push(resolve))
    const late = sleep(metricsTimeout, member.lastMetrics, { signal: timer.signal }).catch(() => member.lastMetrics)
    this.#send(member, { type: 'metrics' })
    try {
      return await Promise.race([answer, late])
    } finally {
      timer.abort()
    }
  }

  /** Sends nothing if the worker has ended. */
  #send({ worker }: Member, message: ToWorker): void {
    if (worker.isConnected()) worker.send(message, () => undefined)
  }
}
