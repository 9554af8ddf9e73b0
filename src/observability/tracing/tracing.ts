import type { FastifyRequest } from 'fastify'

/** What is told of a piece of work: nothing that somebody sent, and no secret. */
export type SpanFacts = Record<string, string | number>

/** Traces of what svc does, for whoever collects them. */
export interface Tracing {
  /** Does work in a span of its own, inside that of the request that it is for; `note` adds what is known only then. */
  span<T>(name: string, facts: SpanFacts, work: (note: (facts: SpanFacts) => void) => Promise<T>): Promise<T>
  /** The same for a call to another service. */
  call<T>(name: string, facts: SpanFacts, work: (note: (facts: SpanFacts) => void) => Promise<T>): Promise<T>
  /** The headers by which another service goes on with the trace (W3C Trace Context). */
  headers(): Record<string, string>
  /** The trace that a request belongs to. */
  idOf(request: FastifyRequest): string | undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Null where nobody collects traces. */
    tracing: Tracing | null
  }
}
