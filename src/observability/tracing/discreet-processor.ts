import { type Context, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-node'

/**
 * The span as it may leave: a status without the error's message, which may quote what was sent. That of a request is
 * settled by its answer: what the caller did wrong is no failure of svc (semantic conventions of HTTP spans).
 */
function discreet(span: ReadableSpan): ReadableSpan {
  const hasFailed =
    span.kind === SpanKind.SERVER
      ? Number(span.attributes['http.response.status_code']) >= 500
      : span.status.code === SpanStatusCode.ERROR
  const code = hasFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET
  return Object.create(span, { status: { value: { code }, enumerable: true } })
}

/** Hands spans on without what they should not tell. */
export class DiscreetProcessor implements SpanProcessor {
  readonly #next: SpanProcessor

  constructor(next: SpanProcessor) {
    this.#next = next
  }

  onStart(span: Span, parent: Context): void {
    this.#next.onStart(span, parent)
  }

  onEnd(span: ReadableSpan): void {
    this.#next.onEnd(discreet(span))
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown()
  }
}
