import type { FastifyRequest } from 'fastify'

/** Attributes of a span, without user input or secrets. */
export type SpanFacts = Record<string, string | number>

/** Traces of svc's work. */
export interface Tracing {
  /** Runs work in a span of the current request; `note` adds attributes during the work. */
  span<T>(name: string, facts: SpanFacts, work: (note: (facts: SpanFacts) => void) => Promise<T>): Promise<T>
  /** The same for a call to another service. */
  call<T>(name: string, facts: SpanFacts, work: (note: (facts: SpanFacts) => void) => Promise<T>): Promise<T>
  /** Headers that propagate the trace (W3C Trace Context). */
  headers(): Record<string, string>
  /** Returns the trace id of a request. */
  idOf(request: FastifyRequest): string | undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Null without a trace collector. */
    tracing: Tracing | null
  }
}
