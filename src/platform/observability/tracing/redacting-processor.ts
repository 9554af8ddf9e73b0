import { type Context, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-node'

/**
 * Removes the error message from a span, because it may quote input. The span of a request fails only with a status of 500
 * or above: client errors are not failures of svc (semantic conventions for HTTP spans).
 */
function redacted(span: ReadableSpan): ReadableSpan {
  const hasFailed =
    span.kind === SpanKind.SERVER
      ? Number(span.attributes['http.response.status_code']) >= 500
      : span.status.code === SpanStatusCode.ERROR
  const code = hasFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET
  return Object.create(span, { status: { value: { code }, enumerable: true } })
}

/** Passes spans on without sensitive data. */
export class RedactingProcessor implements SpanProcessor {
  readonly #next: SpanProcessor

  constructor(next: SpanProcessor) {
    this.#next = next
  }

  onStart(span: Span, parent: Context): void {
    this.#next.onStart(span, parent)
  }

  onEnd(span: ReadableSpan): void {
    this.#next.onEnd(redacted(span))
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown()
  }
}
