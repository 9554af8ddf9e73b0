import { type CallerFacts, readClaims } from './caller.ts'
import { GuardError, unavailable } from './errors.ts'
import type { Remote, Settings } from './options.ts'

type IntrospectionSettings = NonNullable<Settings['introspection']>

interface Waiting {
  resolve(facts: CallerFacts | null): void
  reject(error: GuardError): void
  readonly promise: Promise<CallerFacts | null>
}

function newWaiting(): Waiting {
  let functions: Pick<Waiting, 'resolve' | 'reject'> | undefined
  const promise = new Promise<CallerFacts | null>((resolve, reject) => {
    functions = { resolve, reject }
  })
  // Sound: a promise calls its executor synchronously.
  return { ...(functions as unknown as Waiting), promise }
}

/** Maximum number of tokens in one request to svc. */
const maxBatch = 100
/** How long the first token of a batch waits for others, in milliseconds. */
const batchDelay = 2
/** Maximum number of cached tokens. */
const maxCached = 10_000

/** Asks svc about API tokens. Requests that arrive together share one request to svc. */
export class Introspection {
  readonly #settings: IntrospectionSettings
  readonly #remote: Remote
  readonly #now: () => number
  readonly #authorization: string
  readonly #cache = new Map<string, { facts: CallerFacts; until: number }>()
  #waiting = new Map<string, Waiting>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(settings: IntrospectionSettings, remote: Remote, now: () => number) {
    this.#settings = settings
    this.#remote = remote
    this.#now = now
    // RFC 6749 section 2.3.1: form-urlencoded first, so the result is ASCII.
    const [id, secret] = [settings.clientId, settings.clientSecret].map(encodeURIComponent)
    this.#authorization = `Basic ${btoa(`${id}:${secret}`)}`
  }

  /** Returns what an active token says, or null. Throws a 503 if svc gives no usable answer. */
  check(token: string): Promise<CallerFacts | null> {
    const cached = this.#cached(token)
    if (cached !== null) return Promise.resolve(cached)
    const known = this.#waiting.get(token)
    if (known) return known.promise
    const waiting = newWaiting()
    this.#waiting.set(token, waiting)
    if (this.#waiting.size >= maxBatch) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), batchDelay)
    return waiting.promise
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#waiting
    this.#waiting = new Map()
    this.#ask([...batch.keys()]).then(
      (answers) => {
        for (const [index, waiting] of [...batch.values()].entries()) waiting.resolve(answers[index] ?? null)
      },
      (error) => {
        this.#remote.onError(error)
        const failure = error instanceof GuardError ? error : unavailable(error)
        for (const waiting of batch.values()) waiting.reject(failure)
      },
    )
  }

  /** Resolves each token with its answer, in order. If one answer is implausible, rejects all: the order may be wrong. */
  async #ask(tokens: string[]): Promise<(CallerFacts | null)[]> {
    const { endpoint } = this.#settings
    const response = await this.#remote.fetch(endpoint, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: this.#authorization,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams(tokens.map((token): [string, string] => ['tokens[]', token])).toString(),
      redirect: 'error',
      cache: 'no-store',
      signal: AbortSignal.timeout(this.#remote.timeout),
    })
    if (!response.ok) throw failed(endpoint, response)
    const answers = ((await response.json()) as { tokens?: unknown } | null)?.tokens
    if (!Array.isArray(answers) || answers.length !== tokens.length) {
      throw new Error(`${endpoint} did not answer for each token.`)
    }
    const now = this.#now()
    const results = tokens.map((token, index) => this.#read(token, answers[index], now))
    for (const [index, token] of tokens.entries()) this.#remember(token, results[index] ?? null, now)
    return results
  }

  #read(token: string, answer: unknown, now: number): CallerFacts | null {
    const { endpoint, issuer, audience } = this.#settings
    if (typeof answer !== 'object' || answer === null) throw new Error(`${endpoint} gave an invalid answer.`)
    const claims = answer as Record<string, unknown>
    if (claims.active !== true) return null
    // `id|secret`: the answer must be about this very token.
    if (String(claims.token_id) !== token.slice(0, token.indexOf('|'))) {
      throw new Error(`${endpoint} answered for another token.`)
    }
    const { iss = issuer, aud = audience } = claims
    if (iss !== issuer || ![aud].flat().includes(audience)) return null
    const facts = readClaims('token', claims)
    return facts === null || (facts.expiresAt ?? Number.POSITIVE_INFINITY) * 1000 <= now ? null : facts
  }

  #cached(token: string): CallerFacts | null {
    const entry = this.#cache.get(token)
    if (entry === undefined) return null
    if (this.#now() < entry.until) return entry.facts
    this.#cache.delete(token)
    return null
  }

  #remember(token: string, facts: CallerFacts | null, now: number): void {
    const seconds = this.#settings.cacheSeconds
    if (facts === null || seconds === 0) return
    const [oldest] = this.#cache.keys()
    if (oldest !== undefined && this.#cache.size >= maxCached) this.#cache.delete(oldest)
    const until = Math.min(now + seconds * 1000, (facts.expiresAt ?? Number.POSITIVE_INFINITY) * 1000)
    this.#cache.set(token, { facts, until })
  }
}

function failed(endpoint: string, response: Response): GuardError {
  const hint = response.status === 401 ? ' Check clientId and clientSecret.' : ''
  const retryAfter = Number(response.headers.get('retry-after'))
  const seconds = retryAfter >= 1 && retryAfter <= 60 ? Math.ceil(retryAfter) : 1
  return unavailable(new Error(`${endpoint} answered ${response.status}.${hint}`), seconds)
}
