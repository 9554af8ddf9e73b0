import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { Cookie } from 'tough-cookie'
import type { TestClock } from './clock.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey']

/** A session that this browser has bound to a key. */
interface DeviceSession {
  id: string
  privateKey: Key
  refreshUrl: string
  cookie: string
  challenge: string | null
}

export interface BoundBrowserOptions {
  url?: string
  /** Whether the browser supports bound sessions. Default: true. */
  binds?: boolean
  algorithm?: 'ES256' | 'RS256'
}

/** Structured header value as a string: `"text";id="id"`. */
const sfString = /^"([^"]+)"(?:;id="([^"]+)")?$/

/**
 * A browser with Device Bound Session Credentials, as the draft of the W3C describes it. It stores cookies until they expire by
 * its own clock, which may differ from that of svc, and sends its requests to the replicas in turn.
 */
export class BoundBrowser {
  readonly cookies = new Map<string, { value: string; expires: number }>()
  readonly sessions = new Map<string, DeviceSession>()
  /** Paths of the requests that the browser made by itself. */
  readonly own: string[] = []
  /** Milliseconds by which the clock of the browser is ahead. */
  ahead = 0
  registering: Promise<void> = Promise.resolve()
  readonly #apps: readonly FastifyInstance[]
  readonly #clock: TestClock
  readonly #options: Required<BoundBrowserOptions>
  readonly #refreshing = new Map<string, Promise<void>>()
  #requests = 0

  constructor(apps: readonly FastifyInstance[], clock: TestClock, options: BoundBrowserOptions = {}) {
    this.#apps = apps
    this.#clock = clock
    this.#options = { url: 'https://auth.example.com', binds: true, algorithm: 'ES256', ...options }
  }

  get now(): number {
    return this.#clock.now() + this.ahead
  }

  /** Another browser with a copy of the cookies, and without the keys. */
  copyOfCookies(options: BoundBrowserOptions = {}): BoundBrowser {
    const copy = new BoundBrowser(this.#apps, this.#clock, { ...this.#options, binds: false, ...options })
    for (const [name, cookie] of this.cookies) copy.cookies.set(name, cookie)
    return copy
  }

  cookie(name: string): string | undefined {
    const found = this.cookies.get(name)
    return found && found.expires > this.now ? found.value : undefined
  }

  get(path: string, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    return this.send('GET', path, undefined, headers)
  }

  post(path: string, body?: object, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    return this.send('POST', path, body, headers)
  }

  /** Sends a request; renews missing cookies of bound sessions first, and repeats it after a redirect to the same address. */
  async send(
    method: Method,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
    redirects = 2,
  ): Promise<LightMyRequestResponse> {
    await this.#renew()
    const answer = await this.raw(method, path, body, headers)
    const { 'secure-session-registration': offer } = answer.headers
    if (typeof offer === 'string' && this.#options.binds) this.registering = this.#register(offer)
    if (answer.statusCode === 307 && redirects > 0) return this.send(method, path, body, headers, redirects - 1)
    return answer
  }

  /** Sends a request with the cookies, and does nothing else. */
  async raw(
    method: Method,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<LightMyRequestResponse> {
    const { url } = this.#options
    const live = [...this.cookies].filter(([, { expires }]) => expires > this.now)
    const xsrf = this.cookie('XSRF-TOKEN')
    const sent = {
      accept: 'application/json',
      origin: url,
      referer: `${url}/`,
      ...(live.length > 0 ? { cookie: live.map(([name, { value }]) => `${name}=${value}`).join('; ') } : {}),
      ...(method !== 'GET' && xsrf ? { 'x-xsrf-token': decodeURIComponent(xsrf) } : {}),
      ...headers,
    }
    const options: InjectOptions = {
      method,
      url: path,
      headers: sent,
      ...(body === undefined ? {} : { payload: body }),
    }
    const app = this.#apps[this.#requests++ % this.#apps.length] as FastifyInstance
    const answer = await app.inject(options)
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) this.#store(line)
    return answer
  }

  /** Signs in as a single-page application does, and waits for the registration of a key. */
  async signIn(email: string, more: object = {}): Promise<LightMyRequestResponse> {
    await this.get('/svc/csrf-cookie')
    const answer = await this.post('/login', { email, password: 'correct horse', ...more })
    await this.registering
    return answer
  }

  async #renew(): Promise<void> {
    for (const session of [...this.sessions.values()]) {
      if (this.cookie(session.cookie) !== undefined) continue
      const refreshing = this.#refreshing.get(session.id) ?? this.refresh(session)
      this.#refreshing.set(session.id, refreshing)
      await refreshing.finally(() => this.#refreshing.delete(session.id))
    }
  }

  /** Proves to have the key, as before a request whose cookie is missing. */
  async refresh(session: DeviceSession): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const { id, challenge, privateKey, refreshUrl } = session
      const proof = challenge === null ? null : await this.proof(privateKey, { jti: challenge, sub: id })
      const answer = await this.#ask(refreshUrl, {
        'sec-secure-session-id': `"${id}"`,
        ...(proof === null ? {} : { 'secure-session-response': `"${proof}"` }),
      })
      this.#keepChallenge(answer)
      if (answer.statusCode === 200) return
      if (answer.statusCode !== 403) return void this.sessions.delete(id)
    }
  }

  async #register(offer: string): Promise<void> {
    const [, algorithms = '', path = '', challenge = ''] =
      /^\(([^)]+)\);path="([^"]+)";challenge="([^"]+)"$/.exec(offer) ?? []
    const { algorithm } = this.#options
    if (!algorithms.split(' ').includes(algorithm)) return
    const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
    const proof = await this.proof(privateKey, { jti: challenge }, await exportJWK(publicKey))
    const answer = await this.#ask(path, { 'secure-session-response': `"${proof}"` })
    if (answer.statusCode !== 200) return
    const { session_identifier: id, refresh_url: refreshUrl, credentials } = answer.json()
    this.sessions.set(id, { id, privateKey, refreshUrl, cookie: credentials[0].name, challenge: null })
    this.#keepChallenge(answer)
  }

  /** Returns a signed proof. */
  proof(privateKey: Key, claims: Record<string, unknown>, jwk?: JWK, alg: string = this.#options.algorithm) {
    return new SignJWT(claims)
      .setProtectedHeader({ alg, typ: 'dbsc+jwt', ...(jwk ? { jwk } : {}) })
      .setIssuedAt()
      .sign(privateKey)
  }

  /** A request that the browser makes by itself: without the headers that scripts add. */
  #ask(path: string, headers: Record<string, string>): Promise<LightMyRequestResponse> {
    this.own.push(path)
    return this.raw('POST', path, undefined, { ...headers, 'x-xsrf-token': '' })
  }

  #keepChallenge({ headers }: LightMyRequestResponse): void {
    const [, challenge, id = ''] = sfString.exec(String(headers['secure-session-challenge'] ?? '')) ?? []
    const session = this.sessions.get(id)
    if (session && challenge !== undefined) session.challenge = challenge
  }

  #store(line: string): void {
    const cookie = Cookie.parse(line)
    if (!cookie) return
    const { key, value, maxAge } = cookie
    const lifetime = typeof maxAge === 'number' ? maxAge * 1_000 : Number.POSITIVE_INFINITY
    this.cookies.set(key, { value, expires: this.now + lifetime })
  }
}
