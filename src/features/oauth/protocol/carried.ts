import type { IncomingMessage } from 'node:http'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import Provider, { type AdapterPayload } from 'oidc-provider'
import type { Cookies } from '../../../access/cookies.ts'
import type { Clock } from '../../../clock.ts'
import type { Cipher } from '../../../crypto/cipher.ts'
import { deriveCipher } from '../../../crypto/keys.ts'
import { handedOf } from './browser.ts'
import { interactionCookie, sessionCookie } from './cookie-names.ts'

/** The maximum length of one encrypted record. Browsers take cookies of 4096 bytes, with name and attributes. */
const maxLength = 2_048

/** How long a browser may use a record, in milliseconds. */
const carriedFor = 3_600_000

/** Content of a cookie: the payload and its end in unix milliseconds. */
interface Content {
  payload: AdapterPayload
  until: number
}

const nameOf = (kind: string, id: string): string =>
  kind === 'Interaction' ? `${interactionCookie}_${id}` : sessionCookie

/**
 * Keeps the interactions and sessions of browsers without a user in encrypted cookies, so that anonymous requests write
 * nothing to the database. A cookie can be sent again, so nothing in it may count once: an interaction becomes a row
 * when a user signs in, and that row can be resumed once.
 */
export class CarriedRecords {
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

  /** Tests whether a cookie can store the record: no user is signed in, and nothing was decided yet. */
  takes(kind: string, id: string, payload: AdapterPayload): boolean {
    const { ctx } = Provider
    if (!ctx) return false
    // The library sets the cookie of a session before it saves the session.
    if (kind === 'Session') return this.textOf(ctx.req, id) !== undefined
    if (kind !== 'Interaction' || payload.result !== undefined || handedOf(ctx.req).signedIn) return false
    const { session, ...rest } = payload
    // Without the identifier of the session: nothing reads it again.
    const carried = session ? { ...rest, session: { ...session, cookie: undefined } } : rest
    return this.carry(ctx.req, kind, id, carried)
  }

  /** Encrypts a record for the response to a request; false if it is too long for a cookie. */
  carry(request: IncomingMessage, kind: string, id: string, payload: AdapterPayload): boolean {
    const content: Content = { payload, until: this.#clock.now() + carriedFor }
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

/** Whether an identifier is a cookie that contains the record, as `CarriedRecords.open` takes it. */
export const isCarried = (kind: string, id: string): boolean =>
  (kind === 'Interaction' || kind === 'Session') && id.includes('=')
