import cluster from 'node:cluster'
import type { Counters } from '../limits/counters.ts'
import type { BootFile } from './boot-files.ts'
import type { Boot, MetricsOfProcess, ToPrimary, ToWorker } from './messages.ts'
import type { ReloadResult } from './reload-result.ts'
import { SharedCounters } from './shared-counters.ts'

/** Argument of a worker process. It distinguishes a worker of svc from an svc that another program starts as a worker. */
export const workerArgument = '--worker'

/** Minimum interval between notices of readiness checks, in milliseconds. */
const noticeEvery = 1_000

declare module 'fastify' {
  interface FastifyInstance {
    /** Null if this process is the only one. */
    worker: WorkerLink | null
  }
}

/** What a worker does when the primary asks for it. */
interface Handlers {
  reload(): ReloadResult
  stop(how: { isWhole: boolean; isLoadBalanced: boolean }): void
}

/** A worker's connection to the primary. */
export class WorkerLink {
  /** From 1. Worker 1 also runs tasks that only one process needs to run, such as the export of events. */
  readonly number: number
  /** The number of workers, for shares of a limit. */
  readonly count: number
  readonly isFirst: boolean
  /** The configuration files as the primary read them. */
  readonly files: readonly BootFile[]
  /** The files of the last reload of the other workers; null without a reload. */
  readonly reloaded: readonly BootFile[] | null
  /** Counts over all workers. */
  readonly counters: Counters
  #handlers: Handlers | null = null
  #collect: (() => Promise<MetricsOfProcess>) | null = null
  #noticedAt = Number.NEGATIVE_INFINITY

  private constructor({ number, count, isFirst, files, reloaded }: Boot) {
    this.number = number
    this.count = count
    this.isFirst = isFirst
    this.files = files
    this.reloaded = reloaded
    const counters = new SharedCounters((id, calls) => this.#send({ type: 'count', id, calls }))
    this.counters = counters
    process.on('message', (message: ToWorker) => {
      if (message.type === 'reload') this.#reload(message.id)
      if (message.type === 'stop') this.#handlers?.stop(message)
      if (message.type === 'counted') counters.take(message.id, message.results)
      if (message.type === 'metrics') void this.sendMetrics()
    })
  }

  /** Returns whether this process is a worker of svc. */
  static isWorker(): boolean {
    return cluster.isWorker && process.argv.includes(workerArgument)
  }

  /** Waits for the first message of the primary. */
  static async open(): Promise<WorkerLink> {
    const boot = await new Promise<Boot>((resolve) => process.once('message', resolve))
    return new WorkerLink(boot)
  }

  /** Sets the handlers for messages. */
  handle(handlers: Handlers): void {
    this.#handlers = handlers
  }

  /** Asks the primary to replace this worker. After an error, the worker stops at once; otherwise after its replacement. */
  leave(hasFailed: boolean): void {
    void this.#send({ type: 'leaving', hasFailed })
  }

  /** Tells the primary that a load balancer checks the readiness, so that all workers drain. */
  reportReadinessCheck(): void {
    if (performance.now() - this.#noticedAt < noticeEvery) return
    this.#noticedAt = performance.now()
    void this.#send({ type: 'readiness-checked' })
  }

  /** Sends the files of a reload to the primary, for workers that start later. */
  readonly keepReloaded = (files: readonly BootFile[]): void => {
    void this.#send({ type: 'reloaded', files })
  }

  /** Adds these metrics to those of the other workers. */
  shareMetrics(collect: () => Promise<MetricsOfProcess>): void {
    this.#collect = collect
  }

  /** Sends the current metrics, on request and when the worker ends. */
  async sendMetrics(): Promise<void> {
    if (this.#collect) await this.#send({ type: 'metrics', metrics: await this.#collect() })
  }

  #reload(id: number): void {
    const result = this.#handlers?.reload()
    if (result) void this.#send({ type: 'reload-result', id, result })
  }

  /** Sends nothing after the primary has ended, because this worker then ends too. */
  #send(message: ToPrimary): Promise<void> {
    return new Promise((resolve) => {
      if (process.connected) process.send?.(message, undefined, {}, () => resolve())
      else resolve()
    })
  }
}
