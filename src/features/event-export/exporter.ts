import type { FastifyInstance } from 'fastify'
import { type Head, headToExport, markHeadExported } from '../../identity/event-heads.ts'
import type { ListedEvent } from '../../identity/event-list.ts'
import { endLease, eventsToExport, exportBacklog, markExported, takeLease } from '../../identity/event-queue.ts'
import { gaugeReading } from '../../platform/observability/metrics/gauge-reading.ts'
import type { Metrics } from '../../platform/observability/metrics/metrics.ts'
import { eventRecord } from '../admin/events.ts'
import { asciiJson, type ExportedEvent, type Sink } from './sink.ts'
import { sinkFor } from './sinks.ts'

/** Interval of the export, and the maximum delay after failures, in milliseconds. */
const [exportEvery, maxDelay] = [1_000, 60_000]

/** How long a process holds the lease of the export, in milliseconds. It exceeds the timeouts of all destinations. */
const lease = 60_000

/** How long svc waits for transactions that commit after later events, in milliseconds. */
const settling = 1_000

/** Events per write. */
const batchSize = 200

type Parts = Pick<FastifyInstance, 'database' | 'clock' | 'config' | 'dependencies' | 'metrics'>

/** Exports the security events in order, in one process at a time, until the destination has each of them. */
class EventExporter {
  readonly #parts: Parts
  #open: { target: string; sink: Sink } | null = null
  #heldUntil: Date | null = null
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #running = Promise.resolve(true)
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Starts the export. */
  start(): void {
    this.#timer = setTimeout(() => {
      void this.run().finally(() => {
        if (!this.#isClosed) this.start()
      })
    }, this.#delay()).unref()
  }

  /** Exports all events that wait. Returns whether the destination has them. */
  run(): Promise<boolean> {
    this.#running = this.#running.then(() => this.#run())
    return this.#running
  }

  async #run(): Promise<boolean> {
    const target = this.#parts.config.current().audit.export
    if (target === null && !this.#open) return true
    try {
      if (this.#open && this.#open.target !== target) await this.#release()
      if (target === null) return true
      while (!this.#isClosed && (await this.#exportBatch(target)) === batchSize);
      this.#parts.dependencies.of('event_export').worked()
      this.#failures = 0
      return true
    } catch (error) {
      this.#failures++
      this.#parts.metrics?.eventExportFailed()
      this.#parts.dependencies.of('event_export').failed(error)
      return false
    }
  }

  /** Stops after the current batch. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
    await this.#release().catch(() => undefined)
  }

  /** Returns the number of exported events, or 0 if another process exports. */
  async #exportBatch(target: string): Promise<number> {
    const { database, clock, metrics } = this.#parts
    const now = clock.now()
    const until = new Date(now + lease)
    if (!(await takeLease(database, new Date(now), until, this.#heldUntil))) {
      this.#heldUntil = null
      return 0
    }
    this.#heldUntil = until
    const events = await eventsToExport(database, new Date(now - settling), batchSize)
    const head = events.length < batchSize ? await headToExport(database) : null
    if (events.length === 0 && !head) return 0
    this.#open ??= { target, sink: sinkFor(target) }
    await this.#open.sink.write([...events.map(exported), ...(head ? [exportedHead(head)] : [])])
    await markExported(database, events, new Date(now))
    if (head) await markHeadExported(database, head, new Date(now))
    metrics?.eventsExported(events.length)
    return events.length
  }

  async #release(): Promise<void> {
    this.#open?.sink.close()
    this.#open = null
    const held = this.#heldUntil
    this.#heldUntil = null
    if (held) await endLease(this.#parts.database, held)
  }

  #delay(): number {
    return Math.min(maxDelay, exportEvery * 2 ** Math.min(this.#failures, 10))
  }
}

function exported(event: ListedEvent): ExportedEvent {
  const { cursor: _, ...record } = eventRecord(event)
  return { type: event.type, isFailure: record.outcome === 'failure', at: event.lastAt, json: asciiJson(record) }
}

/** The receiver keeps the head, which shows later whether the end of the audit trail was cut. */
const exportedHead = (head: Head): ExportedEvent => ({
  type: 'audit_head',
  isFailure: false,
  at: new Date(head.sealed_at),
  json: asciiJson({ type: 'audit_head', ...head }),
})

declare module 'fastify' {
  interface FastifyInstance {
    eventExporter: EventExporter
  }
}

/** Adds the export of security events, which runs while the app does. */
export function addEventExport(app: FastifyInstance): void {
  const exporter = new EventExporter(app)
  app.decorate('eventExporter', exporter)
  app.addHook('onReady', async () => {
    if (!app.worker || app.worker.number === 1) exporter.start()
  })
  app.addHook('onClose', async () => exporter.close())
}

/** Adds the gauges of the events that wait for the export. */
export function addExportGauges(app: FastifyInstance, metrics: Metrics): void {
  const backlog = gaugeReading(() => exportBacklog(app.database))
  metrics.gauge('svc_event_export_pending', 'Security events that wait for the export.', [], async (set) => {
    if (app.config.current().audit.export !== null) set((await backlog()).count)
  })
  metrics.gauge('svc_event_export_oldest_age_seconds', 'Age of the oldest event that waits.', [], async (set) => {
    if (app.config.current().audit.export === null) return
    const { since } = await backlog()
    set(since ? Math.max(0, app.clock.now() - since.getTime()) / 1000 : 0)
  })
}
