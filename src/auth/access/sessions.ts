import fastifySession from '@fastify/session'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CurrentConfig } from '../../platform/config/current.ts'
import type { Config } from '../../platform/config/schema.ts'
import { deriveKeys, type KeyPurpose } from '../../platform/crypto/keys.ts'
import { randomId } from '../../platform/crypto/random.ts'
import { Signer } from '../../platform/crypto/signer.ts'
import { type BoundSessions, boundCookie } from './bound-sessions.ts'
import type { CookiePrefix, Cookies } from './cookies.ts'
import { mayReceiveSession } from './cross-site.ts'
import { Xsrf } from './csrf.ts'
import type { SessionRow } from './lookups/lookups.ts'
import type { SessionStore } from './session-store.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Session id from a validly signed cookie, or null. Set on routes that read the session. */
    presentedSessionId: string | null
    /** Whether the request passed the CSRF check. */
    passedCsrf: boolean
  }
}

/** Cookie attribute that makes the browser delete the cookie. */
const expired = 'Max-Age=0;'

interface CookieSuffixes {
  /** The session cookie's name with its prefix. */
  full: string
  session: string
  xsrfName: string
  xsrf: string
}

type Decrypt = FastifyInstance['decryptSession']

interface SessionsParts {
  config: CurrentConfig
  bound: BoundSessions
  cookies: Cookies
  store: SessionStore
  signers: Record<CookiePrefix, Signer>
  decrypt: Decrypt
}

/** Reads sessions from cookies and sends the cookies: the only place that handles their names and signatures. */
export class Sessions {
  readonly #config: CurrentConfig
  readonly #bound: BoundSessions
  readonly #decrypt: Decrypt
  readonly #signers: Record<CookiePrefix, Signer>
  readonly #cookies: Cookies
  readonly #store: SessionStore
  readonly #suffixes = new WeakMap<Config['session'], CookieSuffixes>()
  readonly xsrf: Xsrf

  constructor({ config, bound, cookies, store, signers, decrypt }: SessionsParts) {
    this.#config = config
    this.#bound = bound
    this.#store = store
    this.#cookies = cookies
    this.#signers = signers
    this.#decrypt = decrypt
    this.xsrf = new Xsrf(deriveKeys(config.current().app.secret, 'xsrf'))
  }

  /** Loads `request.session` from the cookie, once. Without a valid cookie, it is a new anonymous session. */
  async read(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (this.#isRead(request)) return
    const presented = this.#cookies.parse(request.headers.cookie ?? '')
    request.cookies = presented.values
    request.cookiePrefixes = presented.prefixes
    const cookie = this.#presented(request)
    await this.#load(request, cookie)
    await this.#hold(request, cookie)
    const { sessionId } = request.session
    request.presentedSessionId = cookie.startsWith(`${sessionId}.`) ? sessionId : null
    if (!mayReceiveSession(request)) return
    const stale = this.#cookies.staleLines(presented)
    if (stale.length > 0) reply.header('set-cookie', stale)
  }

  /**
   * Hides a live session that svc must not accept yet. It keeps its id, so that nothing overwrites the cookies of a browser
   * that can prove itself later.
   */
  async #hold(request: FastifyRequest, cookie: string): Promise<void> {
    const row = request.session.state?.row
    if (!row || !this.#bound.isHeld(row, request.cookies[boundCookie], request.server.clock.now())) return
    this.#store.expect(request.session.sessionId, null)
    await this.#load(request, cookie)
    if (request.session.state) request.session.state.held = row
  }

  /**
   * Returns the signed session id of the request. A signature is valid only under its prefix, so that a subdomain
   * cannot plant a current cookie under a legacy name.
   */
  #presented({ cookies, cookiePrefixes }: FastifyRequest): string {
    const name = this.#cookies.session
    const signed = cookies[name] ?? ''
    const prefix = cookiePrefixes?.get(name) ?? ''
    const expected = this.#cookies.prefix(name)
    if (prefix === expected || signed === '') return signed
    const { value } = this.#signers[prefix].unsign(signed)
    return value === null ? '' : this.#signers[expected].sign(value)
  }

  /**
   * Switches the request to the session with this id, existing or new, and sends the cookies. `row` is the row of the
   * session, or null if it has none. Without `row`, looks it up.
   */
  async switchTo(
    request: FastifyRequest,
    reply: FastifyReply,
    sessionId: string,
    row?: SessionRow | null,
  ): Promise<void> {
    if (row !== undefined) this.#store.expect(sessionId, row)
    await this.#load(request, this.#signers[this.#cookies.prefix(this.#cookies.session)].sign(sessionId))
    this.sendCookies(request, reply)
  }

  /** Starts a new anonymous session, for example after a logout. */
  startAnonymous(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.switchTo(request, reply, randomId(), null)
  }

  /**
   * Sets the session cookie and the one with the XSRF token, replacing those that this response set before. Does nothing for an unsafe
   * request from another site.
   */
  sendCookies(request: FastifyRequest, reply: FastifyReply): void {
    if (!mayReceiveSession(request)) return
    const { session } = this.#config.current()
    const { sessionId, encryptedSessionId } = request.session
    const { full, xsrfName, ...suffixes } = this.#suffixesOf(session, request.server)
    const before = [reply.getHeader('set-cookie') ?? []].flat().map(String)
    reply.removeHeader('set-cookie')
    reply.header('set-cookie', [
      ...before.filter(
        (line) => line.includes(expired) || !(line.startsWith(`${full}=`) || line.startsWith(`${xsrfName}=`)),
      ),
      `${full}=${encryptedSessionId}${suffixes.session}`,
      `${xsrfName}=${this.xsrf.token(sessionId)}${suffixes.xsrf}`,
    ])
  }

  /** Returns the serialised attributes of both cookies, computed once per configuration. */
  #suffixesOf(session: Config['session'], { serializeCookie }: FastifyInstance): CookieSuffixes {
    let suffixes = this.#suffixes.get(session)
    if (!suffixes) {
      const name = this.#cookies.session
      const attributes = { ...this.#cookies.attributes(name), maxAge: session.lifetime / 1000 }
      suffixes = {
        full: this.#cookies.nameOf(name),
        session: serializeCookie('c', '', { ...attributes, httpOnly: true }).slice('c='.length),
        xsrfName: session.xsrf_cookie,
        xsrf: serializeCookie('c', '', attributes).slice('c='.length),
      }
      this.#suffixes.set(session, suffixes)
    }
    return suffixes
  }

  #isRead(request: FastifyRequest): boolean {
    return Boolean(request.session)
  }

  #load(request: FastifyRequest, signed: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#decrypt(signed, request, (error?: Error) => (error ? reject(error) : resolve()))
    })
  }
}

/**
 * Registers @fastify/session with the database store and returns its reader. Its own hooks would read and save a
 * session on every request, so it is registered in a scope without routes.
 */
export async function openSessions(
  app: FastifyInstance,
  config: CurrentConfig,
  { bound, cookies, store }: Pick<SessionsParts, 'bound' | 'cookies' | 'store'>,
): Promise<Sessions> {
  const signerOf = (purpose: KeyPurpose) => new Signer(deriveKeys(config.current().app.secret, purpose))
  const signers = {
    '': signerOf('session-cookie'),
    '__Host-': signerOf('__Host-session-cookie'),
    '__Secure-': signerOf('__Secure-session-cookie'),
  }
  let decrypt: Decrypt | undefined
  await app.register(async (scope) => {
    await scope.register(fastifySession, {
      secret: signers[cookies.prefix(cookies.session)],
      store,
      cookieName: config.current().session.cookie,
      idGenerator: randomId,
      saveUninitialized: false,
      rolling: false,
    })
    decrypt = scope.decryptSession
  })
  if (!decrypt) throw new Error('@fastify/session did not register.')
  return new Sessions({ config, bound, cookies, store, signers, decrypt })
}
