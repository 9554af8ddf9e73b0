import type { Cipher } from '../../platform/crypto/cipher.ts'
import { sha256Base64url } from '../../platform/crypto/hash.ts'
import { randomId } from '../../platform/crypto/random.ts'

declare module '../../platform/crypto/keys.ts' {
  interface CipherPurposes {
    'social-flow': true
    'social-tokens': true
  }
}

declare module '../../auth/access/used-once.ts' {
  interface UsedOncePurposes {
    SocialState: true
  }
}

/** A pending sign-in, stored encrypted in a cookie of the browser that started it. */
export interface Flow {
  provider: string
  /** Source of state, nonce and verifier. */
  secret: string
  intent: 'sign_in' | 'link' | 'confirm' | 'invitation'
  /** Public id of the session that started it, if the intent concerns its user. */
  session: string | null
  /** Token of the invitation to accept, if that is the intent. */
  invitation?: string
  /** Where it started: the application, svc's sign-in page, or a client that wants an API token. */
  mode: 'browser' | 'page' | 'stateless'
  /** Whether a guest started it on a page of svc, and not another site that opened the address. */
  isOwn?: boolean
  /** Whether the provider must ask for a new sign-in. */
  isReauthentication: boolean
  deviceName: string | null
  returnTo: string | null
  /** Unix milliseconds. */
  startedAt: number
}

/** Lifetime of a flow in milliseconds. */
export const flowTtl = 600_000

/** Lifetime of the cookie in seconds: longer, to distinguish an expired flow from an unknown one. */
export const cookieAge = 3_600

/** Maximum length of a stored return path: browsers limit cookies to 4096 bytes. */
export const maxReturnLength = 1_500

/** Creates a flow. */
export const newFlow = (facts: Omit<Flow, 'secret'>): Flow => ({ ...facts, secret: randomId() })

/**
 * Values sent to or returned by the provider. None reveals another. They have 43 characters: some providers reject
 * longer nonces, and a verifier must not be shorter (RFC 7636 section 4.1).
 */
export const parametersOf = ({ secret }: Flow) => ({
  state: sha256Base64url(`state ${secret}`),
  nonce: sha256Base64url(`nonce ${secret}`),
  verifier: sha256Base64url(`verifier ${secret}`),
})

const cookiePrefix = 'svc_social_'

/** Maximum size of flow cookies in the request headers, in bytes: Node limits all headers to 16 KiB. */
const maxCookieBytes = 4_096

/** Cookie name of a state, so that several tabs can sign in. */
export const cookieName = (state: string): string => `${cookiePrefix}${state.slice(0, 16)}`

/**
 * Names of the oldest flows to delete for a new one. Browsers send the oldest cookies of a path first (RFC 6265 section
 * 5.4).
 */
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

/** Encrypts a flow. Bound to the cookie prefix, so that it cannot be planted under a weaker name. */
export const sealFlow = (cipher: Cipher, flow: Flow, prefix: string): string =>
  cipher.encrypt(JSON.stringify(flow), `${prefix}flow ${parametersOf(flow).state}`)

/** Decrypts the flow of a state; null if the cookie does not match. */
export function openFlow(cipher: Cipher, state: string, cookie: string | undefined, prefix: string): Flow | null {
  // The state is the encryption context, so no other state decrypts the flow.
  const text = cookie === undefined ? null : cipher.decrypt(cookie, `${prefix}flow ${state}`)
  return text === null ? null : JSON.parse(text)
}
