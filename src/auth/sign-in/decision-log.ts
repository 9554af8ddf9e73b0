/** Kind of a recorded decision: of the guard about a request to another service, or about tokens. */
export type DecisionKind = 'guard' | 'token'

/** Records decisions, so that `svc config:plan --replay` can make them again under another configuration. */
export interface DecisionLog {
  /** Tests whether to record the next decision. `audit.decisions` may be off, or record only a sample. */
  wants(): boolean
  /**
   * Records what a decision depended on besides the configuration, and the verdict, as plain values. The facts must contain no
   * secrets. Equal facts are counted, so they should not contain the time. `isKnown`: someone with a valid credential caused it.
   */
  record(kind: DecisionKind, facts: object, { isKnown }: { isKnown: boolean }): void
}

declare module 'fastify' {
  interface FastifyInstance {
    decisionLog: DecisionLog
  }
}
