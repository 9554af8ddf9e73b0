import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { afterCommit } from '../../database/after-commit.ts'
import { Histogram } from './histogram.ts'

/** Result of a sign-in attempt. */
export type LoginOutcome =
  | 'succeeded'
  | 'failed'
  | 'limited'
  | 'locked_out'
  | 'second_factor_needed'
  | 'second_factor_failed'

/** Result of the guard. */
export type Verdict = 'session' | 'api_token' | 'user_jwt' | 'machine' | 'none' | 'invalid' | 'error'

/** Data recorded with a security event. */
type EventData = Readonly<Record<string, string | number | boolean | null>>

/** Sets one value of a gauge. */
export type SetValue = (value: number, labels?: Record<string, string>) => void

const latency = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const sizes = [1, 2, 5, 10, 20, 50, 100, 200, 500]

const text = (value: EventData[string] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Sign-in result by event. */
const outcomes: Readonly<Record<string, LoginOutcome>> = {
  login: 'succeeded',
  login_remembered: 'succeeded',
  login_failed: 'failed',
  lockout: 'locked_out',
  two_factor_challenged: 'second_factor_needed',
  two_factor_failed: 'second_factor_failed',
}

/** Channel of events that only one channel causes. */
const channels: Readonly<Record<string, string>> = { login_remembered: 'remembered' }

/** Counts what a transaction changes after its COMMIT. */
function committed(count: () => void): void {
  afterCommit((ending) => {
    if (ending === 'committed') count()
  })
}

/** Metrics of one process for Prometheus; docs/observability.md explains each. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = new Histogram(
    'svc_http_request_duration_seconds',
    'Responses by method, route pattern and status, with their duration.',
    ['method', 'route', 'status'],
    latency,
  )
  readonly #authentications = new Histogram(
    'svc_authentication_duration_seconds',
    'Results of authenticating requests and the duration, by route family.',
    ['family', 'verdict'],
    latency,
  )
  readonly #lookups = new Histogram(
    'svc_lookup_duration_seconds',
    'Batched queries of authentication.',
    ['lookup'],
    latency,
  )
  readonly #batches = new Histogram('svc_lookup_batch_size', 'Keys in one batched query.', ['lookup'], sizes)
  readonly #hashingWait = new Histogram(
    'svc_hashing_wait_seconds',
    'Time that a password check waited for a thread.',
    [],
    latency,
  )
  readonly #hashing = new Histogram(
    'svc_hashing_duration_seconds',
    'Time that a thread worked on a password.',
    [],
    latency,
  )
  readonly #hooks = new Histogram(
    'svc_hook_duration_seconds',
    'Questions to decision hooks by hook and outcome, with the time until the answer.',
    ['hook', 'outcome'],
    latency,
  )
  readonly #hashingRefused = this.#counter(
    'svc_hashing_refused_total',
    'Password checks rejected because the queue was full.',
    [],
  )
  readonly #events = this.#counter('svc_security_events_total', 'Recorded security events by type.', ['event'])
  readonly #logins = this.#counter('svc_logins_total', 'Sign-in attempts by channel and outcome.', [
    'channel',
    'outcome',
  ])
  readonly #tokens = this.#counter('svc_tokens_issued_total', 'Issued tokens by kind and grant.', ['kind', 'grant'])
  readonly #refusals = this.#counter('svc_token_requests_refused_total', 'Rejected token requests.', ['grant', 'error'])

  readonly #secretUses = this.#counter(
    'svc_client_secret_uses_total',
    'Authentications of clients that have several secrets, by the secret.',
    ['client', 'secret'],
  )
  readonly #exported = this.#counter('svc_events_exported_total', 'Security events that were exported.', [])
  readonly #exportFailures = this.#counter(
    'svc_event_export_failures_total',
    'Failed attempts to export security events.',
    [],
  )

  readonly #histograms = [
    this.#requests,
    this.#authentications,
    this.#lookups,
    this.#batches,
    this.#hashingWait,
    this.#hashing,
    this.#hooks,
  ]

  constructor(facts: Record<string, string>) {
    const names = Object.keys(facts)
    this.gauge('svc_build_info', 'Always 1; the labels identify the build.', names, (set) => set(1, facts))
    collectDefaultMetrics({ register: this.#registry })
  }

  /** Counts a response. */
  request(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe(seconds, method, route, String(status))
  }

  /** Counts one authentication of a request. */
  verdict(family: string, verdict: Verdict, seconds: number): void {
    this.#authentications.observe(seconds, family, verdict)
  }

  /** Counts one batched query. */
  lookup(name: string, keys: number, seconds: number): void {
    this.#lookups.observe(seconds, name)
    this.#batches.observe(keys, name)
  }

  /** Counts one password that was hashed or checked. */
  hashed(waited: number, worked: number): void {
    this.#hashingWait.observe(waited)
    this.#hashing.observe(worked)
  }

  /** Counts one question to a decision hook. */
  hook(hook: string, outcome: 'allowed' | 'denied' | 'failed', seconds: number): void {
    this.#hooks.observe(seconds, hook, outcome)
  }

  /** Counts a password check rejected by a full queue. */
  hashingRefused(): void {
    this.#hashingRefused.inc()
  }

  /** Counts an attempt to sign in. */
  login(channel: string, outcome: LoginOutcome): void {
    committed(() => this.#logins.inc({ channel, outcome }))
  }

  /** Counts an issued token. */
  token(kind: 'api_token' | 'access_token' | 'refresh_token' | 'id_token', grant: string): void {
    committed(() => this.#tokens.inc({ kind, grant }))
  }

  /** Counts an authentication of a client that has several secrets. */
  clientSecretUsed(client: string, secret: 'newest' | 'older'): void {
    this.#secretUses.inc({ client, secret })
  }

  /** Counts a rejected token request. */
  tokenRefused(grant: string, error: string): void {
    committed(() => this.#refusals.inc({ grant, error }))
  }

  /** Counts a security event, and the sign-in attempt or token that it reports. */
  event(event: string, data: EventData): void {
    committed(() => this.#events.inc({ event }))
    const outcome = outcomes[event]
    if (outcome) this.login(channels[event] ?? text(data.channel) ?? text(data.method) ?? 'other', outcome)
    if (event !== 'token_created') return
    // The event names a channel when the sign-in issues a token.
    const channel = text(data.channel)
    if (channel !== undefined) this.login(channel, 'succeeded')
    this.token('api_token', channel === undefined ? 'created' : 'sign_in')
  }

  /** Counts events that were exported. */
  eventsExported(count: number): void {
    this.#exported.inc(count)
  }

  /** Counts a failed attempt to export events. */
  eventExportFailed(): void {
    this.#exportFailures.inc()
  }

  /** Adds a gauge that is read on each scrape. If the read fails, the gauge has no values. */
  gauge(name: string, help: string, labelNames: string[], read: (set: SetValue) => void | Promise<void>): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      async collect() {
        const values: [Record<string, string>, number][] = []
        const reading = async () => read((value, labels = {}) => void values.push([labels, value]))
        await reading().catch(() => undefined)
        this.reset()
        if (labelNames.length === 0) this.remove()
        for (const [labels, value] of values) this.set(labels, value)
      },
    })
  }

  /** Returns all metrics in Prometheus text format. */
  async text(): Promise<string> {
    return [await this.#registry.metrics(), ...this.#histograms].join('\n')
  }

  /** Returns all metrics in the form that prom-client merges. */
  async values(): Promise<Awaited<ReturnType<Registry['getMetricsAsJSON']>>> {
    // Sound: prom-client reads no other types than these, which its declaration gives as numbers.
    const own = this.#histograms.map((histogram) => histogram.toMetric()) as unknown as typeof others
    const others = await this.#registry.getMetricsAsJSON()
    return [...others, ...own]
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] })
  }
}
