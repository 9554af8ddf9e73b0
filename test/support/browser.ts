import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { Cookie, CookieJar } from 'tough-cookie'
import { deriveKeys } from '../../src/platform/crypto/keys.ts'
import { day } from './clock.ts'

/** How a browser differs from the SPA's on the default stateful domain. */
export interface BrowserOptions {
  /** The page's origin, sent as `Origin` and `Referer`; defaults to that of `url`. */
  origin?: string
  /** The address of svc, as the browser sees it: decides which cookies are sent. */
  url?: string
  remoteAddress?: string
  /** Whether the XSRF cookie is sent back as a header, as axios does. */
  xsrf?: boolean
  /** Whether `signIn` uses a known browser, for which svc mails no notice. Default: true. */
  known?: boolean
}

type Headers = Record<string, string | undefined>

/** A first-party SPA in a browser: stores cookies by the standard rules and echoes XSRF-TOKEN on unsafe methods. */
export class Browser {
  readonly jar = new CookieJar()
  readonly #app: FastifyInstance
  readonly #options: Required<Omit<BrowserOptions, 'remoteAddress'>> & { remoteAddress: string | undefined }

  constructor(app: FastifyInstance, options: BrowserOptions = {}) {
    this.#app = app
    this.#options = {
      origin: options.origin ?? (options.url ? new URL(options.url).origin : 'http://localhost:5173'),
      url: options.url ?? 'http://localhost:8000',
      xsrf: options.xsrf ?? true,
      known: options.known ?? true,
      remoteAddress: options.remoteAddress,
    }
  }

  get(path: string, headers: Headers = {}): Promise<LightMyRequestResponse> {
    return this.send('GET', path, undefined, headers)
  }

  post(path: string, body?: object, headers: Headers = {}): Promise<LightMyRequestResponse> {
    return this.send('POST', path, body, headers)
  }

  put(path: string, body?: object, headers: Headers = {}): Promise<LightMyRequestResponse> {
    return this.send('PUT', path, body, headers)
  }

  delete(path: string, body?: object, headers: Headers = {}): Promise<LightMyRequestResponse> {
    return this.send('DELETE', path, body, headers)
  }

  /** Sends a request with this browser's cookies and stores those of the answer; an undefined header is omitted. */
  async send(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    headers: Headers = {},
  ): Promise<LightMyRequestResponse> {
    const { origin, url, xsrf, remoteAddress } = this.#options
    const token = await this.cookie('XSRF-TOKEN')
    const all: Headers = {
      accept: 'application/json',
      origin,
      referer: `${origin}/`,
      cookie: (await this.jar.getCookieString(url + path)) || undefined,
      ...(xsrf && method !== 'GET' && token ? { 'x-xsrf-token': token } : {}),
      ...headers,
    }
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
    const options: InjectOptions = { method, url: path, headers: sent as Record<string, string> }
    if (body !== undefined) options.payload = body
    if (remoteAddress !== undefined) options.remoteAddress = remoteAddress
    const answer = await this.#app.inject(options)
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const cookie = Cookie.parse(line)
      if (cookie) await this.jar.setCookie(cookie, url + path, { ignoreError: true })
    }
    return answer
  }

  /** The value of a cookie that this browser would send to svc. */
  async cookie(name: string): Promise<string | undefined> {
    const cookies = await this.jar.getCookies(`${this.#options.url}/`)
    return cookies.find((cookie) => cookie.key === name)?.value
  }

  /** Makes this a known browser of the account, so that svc mails no notice of the next sign-in. */
  async becomeKnown(email: string): Promise<void> {
    const { clock, config, cookies } = this.#app
    const [key] = deriveKeys(config.current().app.secret, 'known-browser')
    const expires = String(clock.now() + 90 * day)
    const mark = [expires, key?.sign(`${email}\0${expires}`), 'without a password'].join('.')
    const name = `${cookies.prefix('svc_browser')}svc_browser`
    if (await this.cookie(name)) return
    const cookie = new Cookie({ key: name, value: encodeURIComponent(mark), path: '/', secure: name !== 'svc_browser' })
    await this.jar.setCookie(cookie, this.#options.url)
  }

  /** Gets the CSRF cookie and signs in, as an SPA does. */
  async signIn(email: string, password = 'correct horse', more: object = {}): Promise<LightMyRequestResponse> {
    await this.get('/svc/csrf-cookie')
    if (this.#options.known) await this.becomeKnown(email)
    return this.post('/login', { email, password, ...more })
  }
}
