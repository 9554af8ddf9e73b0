import type { JSONWebKeySet } from 'jose'

/** Signing algorithms of svc. */
export type Algorithm = 'ES256' | 'RS256' | 'EdDSA'

/** Access to `POST /oauth/introspect`, with an OAuth client that has `introspect: true`. */
export interface IntrospectionOptions {
  clientId: string
  clientSecret: string
  /** By default `<issuer>/oauth/introspect`. */
  endpoint?: string
  /** Seconds for which an active token is trusted without asking again, at most 5. By default 0. */
  cacheSeconds?: number
}

/** Acceptance of tokens that are bound to a key. */
export interface DpopOptions {
  /** The origin under which clients call this API, such as `https://api.example.com`. */
  origin: string
  /**
   * Marks a proof as used until `expiresAt` (Unix milliseconds), and returns false if it was used before. By default each
   * process remembers its own proofs; several processes need a common store.
   */
  useOnce?: (id: string, expiresAt: number) => boolean | Promise<boolean>
}

export interface GuardOptions {
  /** `app.url` of svc. */
  issuer: string
  /** The `audience` of this API at svc. */
  audience: string
  /** Accepted algorithms. By default those of svc. */
  algorithms?: readonly Algorithm[]
  /** Accepted difference between clocks, in seconds, at most 60. By default 5. */
  clockTolerance?: number
  /** By default `<issuer>/.well-known/jwks.json`. */
  jwksUri?: string
  /** A fixed key set instead of `jwksUri`. */
  keys?: JSONWebKeySet
  /** Accepts API tokens (`id|secret`). Without it, only JWTs are accepted. */
  introspection?: IntrospectionOptions
  /** Accepts tokens with DPoP proofs (RFC 9449). Without it, tokens that are bound to a key are rejected. */
  dpop?: DpopOptions
  /** Reads the status lists of svc, so that a revoked access token stops working before it expires. By default false. */
  statusLists?: boolean
  /** Fields of the metadata of this API (RFC 9728), such as `scopes_supported`. */
  metadata?: Readonly<Record<string, unknown>>
  /** Timeout of requests to svc, in milliseconds. By default 5,000. */
  timeout?: number
  /** Receives failures of svc, for the log. */
  onError?: (error: unknown) => void
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch
  /** Replaces `Date.now`. For tests. */
  now?: () => number
}

/** The options with their defaults. */
export interface Settings {
  issuer: string
  audience: string
  algorithms: Algorithm[]
  clockTolerance: number
  keys: JSONWebKeySet | { uri: string }
  statusLists: boolean
  dpop: DpopOptions | null
  introspection: (Required<IntrospectionOptions> & { issuer: string; audience: string }) | null
  remote: Remote
  now: () => number
}

/** How the guard calls svc. */
export interface Remote {
  timeout: number
  fetch: typeof fetch
  onError: (error: unknown) => void
  /** Milliseconds for intervals. A change of the system clock does not affect it. */
  elapsed: () => number
}

const supported: readonly Algorithm[] = ['ES256', 'RS256', 'EdDSA']

/** Checks the options and adds the defaults. Throws a TypeError that names the invalid option. */
export function readOptions(options: GuardOptions): Settings {
  const { issuer, audience, algorithms = supported, clockTolerance = 5, timeout = 5_000, now = Date.now } = options
  checkUrl('issuer', issuer)
  if (issuer.endsWith('/')) throw new TypeError('issuer must be app.url of svc, without a slash at the end.')
  // An empty audience would match no token. If it became undefined, it would match every token.
  if (typeof audience !== 'string' || audience === '') throw new TypeError('audience must be the audience of this API.')
  if (algorithms.length === 0 || !algorithms.every((name) => supported.includes(name))) {
    throw new TypeError(`algorithms must be a list of ${supported.join(', ')}.`)
  }
  checkNumber('clockTolerance', clockTolerance, 60)
  checkNumber('timeout', timeout, 60_000)
  const { jwksUri = `${issuer}/.well-known/jwks.json`, introspection } = options
  checkUrl('jwksUri', jwksUri)
  const remote: Remote = {
    timeout,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    onError: reporter(options.onError),
    elapsed: options.now ?? (() => performance.now()),
  }
  return {
    issuer,
    audience,
    algorithms: [...algorithms],
    clockTolerance,
    keys: options.keys ?? { uri: jwksUri },
    statusLists: options.statusLists === true,
    dpop: options.dpop ? readDpop(options.dpop) : null,
    introspection: introspection ? readIntrospection(introspection, issuer, audience) : null,
    remote,
    now,
  }
}

/** Ignores errors of `onError`, so that a failing log does not delay or fail a request. */
const reporter =
  (report: (error: unknown) => void = () => undefined) =>
  (error: unknown): void => {
    try {
      report(error)
    } catch {
      // The request continues without the log line.
    }
  }

function readIntrospection(options: IntrospectionOptions, issuer: string, audience: string) {
  const { clientId, clientSecret, endpoint = `${issuer}/oauth/introspect`, cacheSeconds = 0 } = options
  if (!clientId || !clientSecret) throw new TypeError('introspection requires clientId and clientSecret.')
  checkUrl('introspection.endpoint', endpoint)
  checkNumber('introspection.cacheSeconds', cacheSeconds, 5)
  return { clientId, clientSecret, endpoint, cacheSeconds, issuer, audience }
}

function readDpop(options: DpopOptions): DpopOptions {
  checkUrl('dpop.origin', options.origin)
  if (new URL(options.origin).origin !== options.origin) {
    throw new TypeError('dpop.origin must be an origin, such as https://api.example.com.')
  }
  return options
}

function checkUrl(name: string, value: string): void {
  if (!URL.canParse(value) || !/^https?:\/\/[^?#]+$/.test(value)) {
    throw new TypeError(`${name} must be an http or https URL without a query.`)
  }
}

function checkNumber(name: string, value: number, max: number): void {
  if (!(value >= 0 && value <= max)) throw new TypeError(`${name} must be between 0 and ${max}.`)
}
