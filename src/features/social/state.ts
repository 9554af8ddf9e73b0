import type { Cipher } from '../../crypto/cipher.ts'
import { sha256Base64url } from '../../crypto/hash.ts'
import { randomId } from '../../crypto/random.ts'

/** A sign-in under way: the browser that began it keeps it, encrypted, in a cookie of its own. */
export interface Flow {
  provider: string
  /** What state, nonce and verifier are made of. */
  secret: string
  intent: 'sign_in' | 'link' | 'confirm'
  /** The public id of the session that began it, where the intent concerns its user. */
  session: string | null
  /** Where it began: the application, svc's own sign-in page, or a client that wants an API token. */
  mode: 'browser' | 'page' | 'stateless'
  /** Whether the provider is to ask again who sits there. */
  isAnew: boolean
  deviceName: string | null
  returnTo: string | null
  /** Unix milliseconds. */
  startedAt: number
}

/** How long the provider may take, in milliseconds. */
export const flowTtl = 600_000

/** How long the cookie stays, in seconds: longer, so that a late answer is told from one that nobody asked for. */
export const cookieAge = 3_600

/** The longest path to go back to that is kept: a browser takes cookies of 4096 bytes. */
export const longestReturn = 1_500

/** A new flow. */
export const newFlow = (facts: Omit<Flow, 'secret'>): Flow => ({ ...facts, secret: randomId() })

/**
 * The values that go to the provider, or come back from it. None of them reveals another. They have 43 characters: some
 * providers reject longer nonces, and a verifier must not be shorter (RFC 7636 section 4.1).
 */
export const proofsOf = ({ secret }: Flow) => ({
  state: sha256Base64url(`state ${secret}`),
  nonce: sha256Base64url(`nonce ${secret}`),
  verifier: sha256Base64url(`verifier ${secret}`),
})

const cookiePrefix = 'svc_social_'

/** What the cookies of flows may take of a request's headers, in bytes: Node reads 16 KiB of all of them together. */
const maxCookieBytes = 4_096

/** The name of the cookie of a state: many tabs may sign in at once. */
export const cookieName = (state: string): string => `${cookiePrefix}${state.slice(0, 16)}`

/** The names of the oldest flows, which leave room for one more; browsers send the oldest cookies of a path first (RFC 6265 section 5.4). */
export function oldFlows(cookies: Readonly<Record<string, string | undefined>> = {}): string[] {
  let size = 0
  const newestFirst = Object.entries(cookies)
    .filter(([name]) => name.startsWith(cookiePrefix))
    .reverse()
  return newestFirst.flatMap(([name, value = '']) => {
    size += name.length + value.length
    return size > maxCookieBytes ? [name] : []
  })
}

/** The cookie's value: good only under the prefix of its name, so that it cannot be planted under one that protects less. */
export const sealFlow = (cipher: Cipher, flow: Flow, prefix: string): string =>
  cipher.encrypt(JSON.stringify(flow), `${prefix}flow ${proofsOf(flow).state}`)

/** The flow of a state, or null when the cookie is not that one's. */
export function openFlow(cipher: Cipher, state: string, cookie: string | undefined, prefix: string): Flow | null {
  // The state is what it is encrypted for: only the one that was made with it opens it.
  const text = cookie === undefined ? null : cipher.decrypt(cookie, `${prefix}flow ${state}`)
  return text === null ? null : JSON.parse(text)
}
