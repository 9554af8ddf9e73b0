import type { Cipher } from '../../../platform/crypto/cipher.ts'
import { randomId } from '../../../platform/crypto/random.ts'
import { HttpError } from '../../../platform/errors.ts'
import type { StoredIdentity } from '../store.ts'

declare module '../../../platform/crypto/keys.ts' {
  interface CipherPurposes {
    'social-pending-link': true
  }
}

declare module '../../../auth/access/used-once.ts' {
  interface UsedOncePurposes {
    SocialPendingLink: true
  }
}

/** An identity without an account, which its owner may link after a sign-in in the same browser. */
export interface PendingLink {
  /** Works once. */
  id: string
  identity: StoredIdentity
  /** Time of the proof by the provider, in Unix milliseconds. */
  provedAt: number
}

/** Lifetime in milliseconds. */
export const pendingTtl = 600_000

/** Cookie of the browser that proved the identity. */
export const pendingCookie = 'svc_pending_link'

/** Error codes after which svc offers to link the identity. The offer reveals no more than the error does. */
const linkable: ReadonlySet<string> = new Set([
  'account_exists',
  'email_domain_not_allowed',
  'email_missing',
  'email_unverified',
  'registration_disabled',
])

const refused = new WeakMap<object, StoredIdentity>()

/** Remembers with the error the identity whose sign-in it refuses. */
export function noteRefused(error: unknown, identity: StoredIdentity): void {
  if (error instanceof HttpError && linkable.has(error.code)) refused.set(error, identity)
}

/** Returns the identity of a refused sign-in, if its owner may link it. */
export const refusedIdentity = (error: unknown): StoredIdentity | null =>
  typeof error === 'object' && error !== null ? (refused.get(error) ?? null) : null

const maxAvatarLength = 500

/** Encrypts an identity for its browser. Leaves out what a cookie has no space for; the next sign-in adds it. */
export function sealPending(cipher: Cipher, identity: StoredIdentity, provedAt: number, prefix: string): string {
  const avatar = identity.avatar !== null && identity.avatar.length > maxAvatarLength ? null : identity.avatar
  const pending: PendingLink = {
    id: randomId(),
    identity: { ...identity, avatar, tokens: null, groups: null, fields: {} },
    provedAt,
  }
  return cipher.encrypt(JSON.stringify(pending), `${prefix}pending link`)
}

/** Decrypts a pending link; null if the cookie is missing, altered or expired. */
export function openPending(
  cipher: Cipher,
  { cookie, prefix, now }: { cookie: string | undefined; prefix: string; now: number },
): PendingLink | null {
  const text = cookie === undefined ? null : cipher.decrypt(cookie, `${prefix}pending link`)
  const pending: PendingLink | null = text === null ? null : JSON.parse(text)
  return pending && now - pending.provedAt < pendingTtl ? pending : null
}
