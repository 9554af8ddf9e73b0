import type { FastifyRequest } from 'fastify'
import { constantTimeEqual } from '../crypto/hash.ts'
import type { MacKey } from '../crypto/mac.ts'
import { csrfMismatch } from '../errors.ts'
import { isFromForeignPage } from './cross-site.ts'

/** The XSRF value of a session id. The leading letter keeps clients from reading it as JSON or a number. */
export class Xsrf {
  readonly #keys: readonly MacKey[]

  constructor(keys: readonly MacKey[]) {
    this.#keys = keys
  }

  /** Bound to the id: it changes whenever the session's id does. */
  token(sessionId: string): string {
    const key = this.#keys[0]
    if (!key) throw new Error('XSRF tokens need a key.')
    return `x${key.sign(sessionId)}`
  }

  fits(token: string, sessionId: string): boolean {
    return this.#keys.some((key) => constantTimeEqual(`x${key.sign(sessionId)}`, token))
  }
}

const header = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value)

/** The presented token: the first source that has one counts, right or wrong. */
function presentedToken(request: FastifyRequest): unknown {
  const body = request.body
  const field = typeof body === 'object' && body !== null && '_token' in body ? body._token : undefined
  if (field !== undefined && field !== null && field !== '') return field
  return header(request.headers['x-csrf-token']) || header(request.headers['x-xsrf-token']) || undefined
}

/** Throws 419 unless the browser vouches for the same origin, or a trusted page sends the token of the session that the request presented. */
export function checkCsrf(request: FastifyRequest, xsrf: Xsrf, presentedSessionId: string | null): void {
  // A page cannot forge Sec-Fetch-Site: browsers set it, and omit it where they cannot vouch.
  if (request.headers['sec-fetch-site'] === 'same-origin') return
  refuseForeignPage(request)
  const token = presentedToken(request)
  const fits = typeof token === 'string' && presentedSessionId !== null && xsrf.fits(token, presentedSessionId)
  if (!fits) throw csrfMismatch()
}

/** Throws 419 for a request from a page that may not act for svc's visitors, whatever token it knows. */
export function refuseForeignPage(request: FastifyRequest): void {
  if (isFromForeignPage(request)) throw csrfMismatch()
}
