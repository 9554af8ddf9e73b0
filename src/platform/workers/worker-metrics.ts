import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { MetricsOfProcess } from './messages.ts'

/** How svc merges metrics of the workers for which a sum makes no sense. */
const mergedBy: Readonly<Record<string, 'min' | 'max'>> = {
  svc_build_info: 'max',
  svc_database_up: 'min',
  svc_dependency_up: 'min',
  svc_outbox_entries: 'max',
  svc_outbox_oldest_age_seconds: 'max',
  svc_signing_key_age_seconds: 'max',
  process_start_time_seconds: 'min',
  process_max_fds: 'max',
  nodejs_eventloop_lag_seconds: 'max',
  nodejs_eventloop_lag_mean_seconds: 'max',
  nodejs_eventloop_lag_stddev_seconds: 'max',
  nodejs_eventloop_lag_p50_seconds: 'max',
  nodejs_eventloop_lag_p90_seconds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
}

const merge = (all: readonly MetricsOfProcess[]): Registry =>
  AggregatorRegistry.aggregate(
    all.map((metrics) => metrics.map((each) => ({ ...each, aggregator: mergedBy[each.name] ?? each.aggregator }))),
  )

/** The metrics that svc keeps for ended workers. If counts fell, Prometheus would assume a restart of svc. */
const countsIn = (metrics: MetricsOfProcess): MetricsOfProcess =>
  // The types of the library declare `type` as a number, but its values are names.
  metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))

/** The metrics of the primary and of all workers, as one process would have them. */
export class WorkerMetrics {
  readonly #own = new Registry()
  readonly #crashes: Counter
  /** The counts of workers that ended. */
  #ended: Promise<MetricsOfProcess> = Promise.resolve([])

  constructor(running: () => number) {
    collectDefaultMetrics({ register: this.#own })
    const registers = [this.#own]
    this.#crashes = new Counter({
      name: 'svc_worker_crashes_total',
      help: 'Workers that ended unexpectedly.',
      registers,
    })
    new Gauge({
      name: 'svc_workers',
      help: 'Workers that serve requests.',
      registers,
      collect() {
        this.set(running())
      },
    })
  }

  crashed(): void {
    this.#crashes.inc()
  }

  /** Keeps the counts of a worker that ended. */
  keep(last: MetricsOfProcess): void {
    this.#ended = this.#ended.then((ended) => merge([ended, countsIn(last)]).getMetricsAsJSON())
  }

  /** Returns all metrics in Prometheus text format. */
  async text(workers: readonly MetricsOfProcess[]): Promise<string> {
    return merge([await this.#own.getMetricsAsJSON(), await this.#ended, ...workers]).metrics()
  }
}
