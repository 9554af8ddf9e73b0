import type { IncomingMessage } from 'node:http'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import Provider, { type AdapterPayload } from 'oidc-provider'
import type { Cookies } from '../../../auth/access/cookies.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Cipher } from '../../../platform/crypto/cipher.ts'
import { deriveCipher } from '../../../platform/crypto/keys.ts'
import { requestFactsOf } from './browser.ts'
import { interactionCookie, sessionCookie } from './cookie-names.ts'

/** Maximum length of one encrypted record. Browsers accept cookies of up to 4096 bytes, including name and attributes. */
const maxLength = 2_048

/** Lifetime of a record in a cookie, in milliseconds. */
const cookieTtl = 3_600_000

/** Content of a cookie: the payload and its expiry in Unix milliseconds. */
interface Content {
  payload: AdapterPayload
  until: number
}

const nameOf = (kind: string, id: string): string =>
  kind === 'Interaction' ? `${interactionCookie}_${id}` : sessionCookie

/**
 * Stores interactions and sessions in encrypted cookies until a user signs in, so that anonymous requests write nothing
 * to the database. A browser can send an old cookie again, so a cookie cannot enforce single use. When a user signs in,
 * the interaction is therefore stored as a row, which can be resumed once.
 */
export class CookieRecords {
  readonly #cipher: Cipher
  readonly #cookies: Cookies
  readonly #clock: Clock
  /** Cookies to set with the response to a request, by record id. */
  readonly #texts = new WeakMap<IncomingMessage, Map<string, string>>()

  /** `secrets` is `app.secret`: the first one encrypts, all decrypt. */
  constructor(secrets: readonly string[], cookies: Cookies, clock: Clock) {
    this.#cipher = deriveCipher(secrets, 'oauth-carried')
    this.#cookies = cookies
    this.#clock = clock
  }

  /** Stores a record in a cookie if no user is signed in and nothing was decided yet; otherwise returns false. */
  tryPut(kind: string, id: string, payload: AdapterPayload): boolean {
    const { ctx } = Provider
    if (!ctx) return false
    // The library sets the cookie of a session before it saves the session.
    if (kind === 'Session') return this.textOf(ctx.req, id) !== undefined
    if (kind !== 'Interaction' || payload.result !== undefined || requestFactsOf(ctx.req).signedIn) return false
    const { session, ...rest } = payload
    // Omits the identifier of the session, because nothing reads it again.
    const stored = session ? { ...rest, session: { ...session, cookie: undefined } } : rest
    return this.put(ctx.req, kind, id, stored)
  }

  /** Encrypts a record for the response to a request; false if it is too long for a cookie. */
  put(request: IncomingMessage, kind: string, id: string, payload: AdapterPayload): boolean {
    const content: Content = { payload, until: this.#clock.now() + cookieTtl }
    const text = this.#cipher.encryptBytes(
      deflateRawSync(JSON.stringify(content)),
      this.#cookies.nameOf(nameOf(kind, id)),
    )
    if (text.length > maxLength) return false
    const texts = this.#texts.get(request) ?? new Map<string, string>()
    this.#texts.set(request, texts.set(id, text))
    return true
  }

  /** Value of a record's cookie; undefined if the response to this request has none with this id. */
  textOf(request: IncomingMessage, id: string): string | undefined {
    return this.#texts.get(request)?.get(id)
  }

  /**
   * Payload of a cookie, given as `name=value`. The name includes its prefix, so a cookie under another name is
   * invalid.
   */
  open(kind: string, cookie: string): AdapterPayload | null {
    const [name = '', text = ''] = cookie.split('=')
    const bytes = this.#cipher.decryptBytes(text, name)
    if (!bytes) return null
    const { payload, until }: Content = JSON.parse(inflateRawSync(bytes).toString())
    return payload.kind === kind && until > this.#clock.now() ? payload : null
  }
}

/** Tests whether an identifier is a cookie (`name=value`) that contains the record, the input of `CookieRecords.open`. */
export const isCookieRecord = (kind: string, id: string): boolean =>
  (kind === 'Interaction' || kind === 'Session') && id.includes('=')
