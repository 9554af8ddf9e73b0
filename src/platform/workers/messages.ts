import type { Registry } from 'prom-client'
import type { LimitRule } from '../limits/counters.ts'
import type { BootFile } from './boot-files.ts'
import type { ReloadResult } from './reload-result.ts'

/** What a worker needs to start. */
export interface Boot {
  type: 'boot'
  /** From 1. A replacement has the number of the worker that it replaces. */
  number: number
  /** The number of workers. */
  count: number
  /** Whether it is the first worker since svc started. */
  isFirst: boolean
  files: readonly BootFile[]
  /** The files that a worker reloaded last; null without a reload. */
  reloaded: readonly BootFile[] | null
}

/** The metrics of one process. */
export type MetricsOfProcess = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** A call of a method of `Counters`. */
export type CounterCall =
  | ['hit' | 'blockedUntil', name: string, rule: LimitRule, now: number]
  | ['undo' | 'reset', name: string]

/** Messages of the primary. */
export type ToWorker =
  | Boot
  | { type: 'reload'; id: number }
  /** `isWhole`: all of svc stops. `isLoadBalanced`: a load balancer checks the readiness. */
  | { type: 'stop'; isWhole: boolean; isLoadBalanced: boolean }
  | { type: 'counted'; id: number; results: unknown[] }
  | { type: 'metrics' }

/** Messages of a worker. */
export type ToPrimary =
  /** The worker received a signal to stop, or stops because of an error. */
  | { type: 'leaving'; hasFailed: boolean }
  /** A load balancer checked the readiness. */
  | { type: 'readiness-checked' }
  | { type: 'reloaded'; files: readonly BootFile[] }
  | { type: 'reload-result'; id: number; result: ReloadResult }
  | { type: 'count'; id: number; calls: CounterCall[] }
  | { type: 'metrics'; metrics: MetricsOfProcess }
