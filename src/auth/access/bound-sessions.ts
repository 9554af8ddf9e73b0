import type { FastifyReply, FastifyRequest } from 'fastify'
import type { User } from '../../identity/user.ts'
import type { CurrentConfig } from '../../platform/config/current.ts'
import { constantTimeEqual } from '../../platform/crypto/hash.ts'
import { deriveKeys } from '../../platform/crypto/keys.ts'
import type { MacKey } from '../../platform/crypto/mac.ts'
import { randomId } from '../../platform/crypto/random.ts'
import { HttpError } from '../../platform/errors.ts'
import type { Cookies } from './cookies.ts'

declare module 'fastify' {
  interface FastifyInstance {
    boundSessions: BoundSessions
  }
}

declare module '../../platform/errors.ts' {
  interface ErrorCodes {
    session_unbound: true
  }
}

/** Paths that browsers call by themselves. */
export const bindingPaths = { registration: '/session/binding', refresh: '/session/binding/refresh' } as const

/** What a session or a remembered browser says about its binding. */
interface Bindable {
  bindingId: string | null
  /** Unix milliseconds; null unless the browser registered its key in this session. */
  boundAt: number | null
  user: User | null
}

/** `proved`: the cookie counts. `late`: svc issued it for this binding, and it has expired. */
type CookieState = 'proved' | 'late' | 'none'

/** The cookie that proves that the browser has the key of its binding. */
export const boundCookie = 'svc_bound'

/** Milliseconds after the registration in which a request needs no cookie, because it may have left the browser before. */
const underWay = 30_000

/** Milliseconds in which a challenge counts. Browsers keep it for the next proof, so this is longer than any interval. */
const challengeLifetime = 25 * 3_600_000

/** 401 for a session whose browser has not proved that it has the key. */
export const sessionUnbound = (): HttpError =>
  new HttpError(401, 'session_unbound', 'The browser has not proved that this session belongs to it.', {
    headers: { 'www-authenticate': 'Bearer' },
  })

/** 403 for a credential that is not bound to a key, where a rule demands it. Signing in again would not help. */
export const bindingRequired = (): HttpError =>
  new HttpError(403, 'session_unbound', 'This service requires a session or a token that is bound to the device.')

/**
 * Sessions that are bound to a key of the browser (W3C Device Bound Session Credentials). The browser proves regularly that
 * it has the key, and gets a short-lived cookie that it must send beside the cookie of the session.
 */
export class BoundSessions {
  readonly #config: CurrentConfig
  readonly #cookies: Cookies
  readonly #keys: readonly MacKey[]
  /** Whether browsers accept a binding of the configured scope. */
  isPermitted: () => boolean = () => true

  constructor(config: CurrentConfig, cookies: Cookies) {
    this.#config = config
    this.#cookies = cookies
    this.#keys = deriveKeys(config.current().app.secret, 'session-binding')
  }

  get isOn(): boolean {
    return this.#config.current().session.bound !== 'off'
  }

  /** Tests whether svc must not accept the session or the remembered browser, given the cookie of the request. */
  isHeld({ bindingId, boundAt, user }: Bindable, cookie: string | undefined, now: number): boolean {
    if (!user || !this.isOn) return false
    if (bindingId === null) return this.#config.current().session.bound_required_for.includes(user.role)
    if (boundAt !== null && now - boundAt < underWay) return false
    return this.#stateOf(bindingId, cookie, now) !== 'proved'
  }

  /** Tests for a cookie that the browser kept longer than it is valid, for example because its clock was set back. */
  isLate(bindingId: string, cookie: string | undefined, now: number): boolean {
    return this.#stateOf(bindingId, cookie, now) === 'late'
  }

  /** Offers the browser to register a key for a new session. Browsers without support ignore the header. */
  offer(reply: FastifyReply, { publicId, now }: { publicId: string; now: number }): void {
    if (!this.isOn || !this.isPermitted()) return
    const challenge = this.challenge(publicId, now)
    const value = `(ES256 RS256);path="${bindingPaths.registration}";challenge="${challenge}"`
    reply.header('secure-session-registration', value)
  }

  /** Returns a challenge for a session or a binding, issued at this time (Unix milliseconds). */
  challenge(subject: string, at: number): string {
    const text = `${at}.${randomId()}`
    return `${text}.${this.#keys[0]?.sign(`challenge\0${subject}\0${text}`)}`
  }

  /** Returns when svc issued the challenge for this session or binding, in Unix milliseconds; null if it does not count. */
  issuedAt(challenge: unknown, subject: string, now: number): number | null {
    const [, text = '', at = '', mac = ''] =
      /^((\d{1,15})\.[\w-]{43})\.([\w-]{43})$/.exec(typeof challenge === 'string' ? challenge : '') ?? []
    const isOurs = this.#keys.some((key) => constantTimeEqual(key.sign(`challenge\0${subject}\0${text}`), mac))
    return isOurs && Number(at) > now - challengeLifetime ? Number(at) : null
  }

  /**
   * Sends the cookie of a binding. The browser drops it somewhat earlier than svc, so that a request with the last cookie
   * still arrives in time.
   */
  sendCookie(
    request: FastifyRequest,
    reply: FastifyReply,
    { bindingId, now }: { bindingId: string; now: number },
  ): void {
    const { bound_interval: interval } = this.#config.current().session
    const expires = now + interval
    const value = `${expires}.${this.#keys[0]?.sign(`cookie\0${bindingId}\0${expires}`)}`
    const margin = Math.min(30_000, interval / 4)
    this.#cookies.set(request, reply, boundCookie, value, { maxAge: Math.floor((interval - margin) / 1000) })
  }

  /** Deletes the cookie, so that the browser answers a challenge before its next request. */
  clearCookie(request: FastifyRequest, reply: FastifyReply): void {
    if (request.cookies[boundCookie] !== undefined) this.#cookies.clear(request, reply, boundCookie)
  }

  /** The cookie as browsers store it, for the instructions to the browser. */
  get cookie(): { name: string; attributes: string } {
    const { path, sameSite, secure, domain } = this.#cookies.attributes(boundCookie)
    const attributes = [
      ...(domain === undefined ? [] : [`Domain=${domain}`]),
      `Path=${path}`,
      ...(secure ? ['Secure'] : []),
      'HttpOnly',
      `SameSite=${sameSite.charAt(0).toUpperCase()}${sameSite.slice(1)}`,
    ]
    return { name: this.#cookies.nameOf(boundCookie), attributes: attributes.join('; ') }
  }

  #stateOf(bindingId: string, cookie: string | undefined, now: number): CookieState {
    const [, expires = '', mac = ''] = /^(\d{1,15})\.([\w-]{43})$/.exec(cookie ?? '') ?? []
    const isOurs = this.#keys.some((key) => constantTimeEqual(key.sign(`cookie\0${bindingId}\0${expires}`), mac))
    if (!isOurs) return 'none'
    return Number(expires) > now ? 'proved' : 'late'
  }
}
