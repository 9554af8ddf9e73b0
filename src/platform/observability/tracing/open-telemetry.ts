import { FastifyOtelInstrumentation } from '@fastify/otel'
import {
  context,
  DiagLogLevel,
  diag,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { version } from '../../version.ts'
import { unmatchedPath } from '../logging.ts'
import { RedactingProcessor } from './redacting-processor.ts'
import type { SpanFacts, Tracing } from './tracing.ts'

/** How long shutdown waits for the collector, in milliseconds. */
const flushTimeout = 500

/** Names a request's span by its route. The instrumentation would record the URL, including codes and tokens. */
function nameAfterRoute(span: Span, request: FastifyRequest): void {
  const { url } = request.routeOptions
  const isMatched = url !== undefined && url !== '*'
  span.updateName(isMatched ? `${request.method} ${url}` : request.method)
  span.setAttribute('url.path', isMatched ? url : unmatchedPath(request.raw.url ?? ''))
}

/** Starts sending traces as configured by OpenTelemetry's variables, with one span per request. */
export async function startTracing(app: FastifyInstance): Promise<Tracing> {
  const warn = (text: string) => app.log.warn(`traces: ${text.slice(0, 300)}`)
  diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN)
  const named = resourceFromAttributes({ 'service.name': 'svc', 'service.version': version })
  const provider = new NodeTracerProvider({
    resource: named.merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new RedactingProcessor(new BatchSpanProcessor(new OTLPTraceExporter()))],
  })
  provider.register()
  const requests = new FastifyOtelInstrumentation({
    requestHook: nameAfterRoute,
    instrumentHooks: false,
    instrumentHandler: false,
    recordExceptions: false,
  })
  requests.setTracerProvider(provider)
  await app.register(requests.plugin())
  app.addHook('onClose', async () => {
    const late = new Promise<boolean>((resolve) => setTimeout(resolve, flushTimeout, false).unref())
    const sent = provider.shutdown().then(
      () => true,
      () => false,
    )
    if (!(await Promise.race([sent, late]))) warn('the last traces could not be sent')
    for (const api of [trace, context, propagation, diag]) api.disable()
  })

  const tracer = provider.getTracer('svc', version)
  const traced =
    (kind: SpanKind): Tracing['span'] =>
    (name, facts, work) =>
      tracer.startActiveSpan(name, { kind, attributes: facts }, async (span) => {
        try {
          return await work((more: SpanFacts) => void span.setAttributes(more))
        } catch (error) {
          span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown')
          span.setStatus({ code: SpanStatusCode.ERROR })
          throw error
        } finally {
          span.end()
        }
      })
  return {
    span: traced(SpanKind.INTERNAL),
    call: traced(SpanKind.CLIENT),
    headers: () => {
      const carrier: Record<string, string> = {}
      propagation.inject(context.active(), carrier)
      // Baggage from callers is not passed on.
      const { traceparent, tracestate } = carrier
      return { ...(traceparent ? { traceparent } : {}), ...(tracestate ? { tracestate } : {}) }
    },
    idOf: (request) => {
      const { context: found } = request.opentelemetry()
      return found ? trace.getSpanContext(found)?.traceId : undefined
    },
  }
}
