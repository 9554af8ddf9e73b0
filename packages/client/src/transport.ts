import { type DpopKey, dpopProof } from './dpop.ts'
import { errorOf, NetworkError } from './errors.ts'
import type { CallOptions, HttpMethod } from './operations.ts'
import { page, pageCookies } from './page.ts'

type Provided<Value> = Value | (() => Value | Promise<Value>)

export interface ClientOptions {
  /** The address of svc, such as `https://id.example.com`. Without it, the client calls the origin of the page. */
  baseUrl?: string
  /**
   * Selects bearer mode: the client sends this token and no cookies. `null` waits for `tokens.login()` or `setToken()`.
   * A function is called for each request, for example to read secure storage.
   */
  token?: Provided<string | null | undefined>
  /** A key of `createDpopKey()` for bearer mode: `tokens.login()` binds the token to it, and each request proves to have it. */
  dpop?: DpopKey
  /** Headers of every request, such as `cookie` and `origin` when a server renders a page. */
  headers?: Provided<Record<string, string>>
  /** Another implementation of fetch. */
  fetch?: typeof globalThis.fetch
  /** The name of the cookie with the CSRF token: `session.xsrf_cookie` of svc. Default: `XSRF-TOKEN`. */
  xsrfCookie?: string
  /** Returns the decoded value of that cookie where `document.cookie` does not exist. */
  xsrfToken?: () => string | null | undefined | Promise<string | null | undefined>
}

export interface Call extends CallOptions {
  path?: Record<string, string | number>
  query?: Record<string, unknown>
  body?: unknown
}

const provided = async <Value>(value: Provided<Value>): Promise<Value> =>
  typeof value === 'function' ? (value as () => Value | Promise<Value>)() : value

const isUnsafe = (method: HttpMethod): boolean => method !== 'GET'

/** Fills `{name}` in a path. An empty segment or dots would lead to another route. */
function filled(path: string, values: Record<string, string | number> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(values[name] ?? '')
    if (['', '.', '..'].includes(value)) throw new TypeError(`Invalid path parameter ${name}: ${JSON.stringify(value)}`)
    return encodeURIComponent(value)
  })
}

function queryOf(values: Record<string, unknown> = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null) query.append(name, String(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

/** Sends requests in cookie mode with the CSRF token, or in bearer mode with the token. */
export class Transport {
  readonly #options: ClientOptions
  readonly #baseUrl: string
  readonly #isBearer: boolean
  #token: ClientOptions['token']
  /** Reads the CSRF tokens; null where no cookie can be read. */
  readonly #readXsrf: (() => Promise<string[]>) | null
  /** Concurrent requests share one renewal. */
  #renewal: Promise<void> | undefined

  constructor(options: ClientOptions) {
    this.#options = options
    this.#baseUrl = (options.baseUrl ?? '').replace(/\/+$/, '')
    this.#isBearer = options.token !== undefined
    this.#token = options.token
    this.#readXsrf = xsrfReader(options)
  }

  get isBearer(): boolean {
    return this.#isBearer
  }

  /** Keeps the token of bearer mode. A function stays the source of the token. */
  remember(token: string | null): void {
    if (this.#isBearer && typeof this.#token !== 'function') this.#token = token
  }

  /** Returns the parsed body of a successful response, and throws an SvcError for any other. */
  async send(method: HttpMethod, path: string, call: Call = {}): Promise<unknown> {
    const protects = !this.#isBearer && isUnsafe(method) && this.#readXsrf !== null
    if (!protects) return parsed(await this.#fetch(method, path, call), call.signal)
    if ((await this.#xsrfTokens()).length === 0) await this.#renewXsrf()
    const [first] = await this.#xsrfTokens()
    let response = await this.#fetch(method, path, call, first)
    if (response.status === 419) await this.#renewXsrf()
    // Each value, because the first one may be of another application on this host.
    for (const token of response.status === 419 ? await this.#xsrfTokens() : []) {
      response = await this.#fetch(method, path, call, token)
      if (response.status !== 419) break
    }
    return parsed(response, call.signal)
  }

  #xsrfTokens = async (): Promise<string[]> => (await this.#readXsrf?.()) ?? []

  #renewXsrf(): Promise<void> {
    this.#renewal ??= this.#fetch('GET', '/svc/csrf-cookie', {})
      .then((response) => parsed(response))
      .then(() => undefined)
      .finally(() => {
        this.#renewal = undefined
      })
    return this.#renewal
  }

  async #fetch(
    method: HttpMethod,
    path: string,
    { path: values, query, body, headers, signal }: Call,
    xsrf?: string,
  ): Promise<Response> {
    const url = this.#baseUrl + filled(path, values) + queryOf(query)
    const init: RequestInit = {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(xsrf ? { 'x-xsrf-token': xsrf } : {}),
        ...(await this.#credential(method, url)),
        ...(await provided(this.#options.headers ?? {})),
        ...headers,
      },
      credentials: this.#isBearer ? 'omit' : 'include',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    }
    // Stores fetch in a variable: browsers do not allow a call as a method of another object.
    const { fetch = globalThis.fetch } = this.#options
    return fetch(url, init).catch((error) => fail(error, signal))
  }

  async #credential(method: HttpMethod, url: string): Promise<Record<string, string>> {
    if (!this.#isBearer) return {}
    const token = (await provided(this.#token)) || null
    const { dpop } = this.#options
    if (!dpop) return token === null ? {} : { authorization: `Bearer ${token}` }
    const proof = await dpopProof(dpop, { method, url: new URL(url, page.location?.href).href, token })
    return { ...(token === null ? {} : { authorization: `DPoP ${token}` }), dpop: proof }
  }
}

function xsrfReader({ xsrfToken, xsrfCookie = 'XSRF-TOKEN' }: ClientOptions): (() => Promise<string[]>) | null {
  const given = async () => [(await xsrfToken?.()) ?? []].flat()
  if (xsrfToken) return given
  return page.document ? async () => pageCookies(xsrfCookie) : null
}

/** Rethrows the reason of an abort, because the caller requested it. */
function fail(error: unknown, signal: AbortSignal | undefined): never {
  throw signal?.aborted ? (signal.reason ?? error) : new NetworkError(error)
}

async function parsed(response: Response, signal?: AbortSignal): Promise<unknown> {
  const text = await response.text().catch((error) => fail(error, signal))
  const body = text === '' ? undefined : jsonOf(text)
  if (!response.ok) throw errorOf(response.status, response.headers, body)
  return body
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
