import type { FastifyInstance } from 'fastify'
import { noteUnsent } from '../../identity/account-mail.ts'
import type { EventContext } from '../../identity/events.ts'
import { findUserById, type UserWithPassword } from '../../identity/users.ts'
import { constantTimeEqual } from '../../platform/crypto/hash.ts'
import { deriveKeys } from '../../platform/crypto/keys.ts'
import { HttpError } from '../../platform/errors.ts'
import { passwordFingerprint } from '../access/password-fingerprint.ts'

/** Lifetime of a link and minimum interval between mails, in milliseconds: the window of the failure limit. */
const validity = 3_600_000

const once = { max: 1, window: validity, block: 'window' } as const

/** Page that unlocks the sign-in of a user. */
export const unlockPath = '/oauth/unlock/:id'

/** Contents of the mailed link: user, expiry (Unix milliseconds) and signature. */
interface UnlockLink {
  id: string
  expires: string
  signature: string
}

const keysOf = (app: FastifyInstance) => deriveKeys(app.config.current().app.secret, 'unlock-sign-in')

/** Returns the text that the link signs. It contains address and password hash, so that changing either invalidates it. */
const signedText = ({ user, password }: UserWithPassword, expires: string): string =>
  [user.id, user.email, passwordFingerprint(password), expires].join('\0')

/** Mails the unlock link to the owner of a locked account: only to a verified address, once per window. */
export async function mailUnlock(app: FastifyInstance, origin: EventContext, found: UserWithPassword): Promise<void> {
  const { user } = found
  if (user.email_verified_at === null || user.disabled) return
  const expiresAt = origin.now + validity
  const expires = String(expiresAt)
  const link = new URL(unlockPath.replace(':id', String(user.id)), app.config.current().app.url)
  link.searchParams.set('expires', expires)
  link.searchParams.set('signature', keysOf(app)[0]?.sign(signedText(found, expires)) ?? '')
  const data = { link: link.href, minutes: validity / 60_000 }
  const cause = { share: 'notice', userId: user.id, ipAddress: null } as const
  const language = user.language ?? origin.language
  try {
    await app.database.transaction(async (tx) => {
      const mailed = await app.counters.within(tx).hit(`unlock-mail:${user.id}`, once, origin.now)
      if (mailed.allowed)
        await app.mail.queue(tx, { to: user.email, template: 'unlock-sign-in', language, data, expiresAt }, cause)
    })
  } catch (error) {
    // 429 means that the mail budget of the mailbox is spent. The mail is then omitted.
    if (!(error instanceof HttpError) || error.statusCode !== 429) throw error
    await noteUnsent(app, origin, { userId: user.id, template: 'unlock-sign-in', reason: 'mail_limit' })
  }
}

/** Returns the user of a valid link without using it up. */
export async function unlockedUser(app: FastifyInstance, link: UnlockLink): Promise<UserWithPassword | null> {
  const now = app.clock.now()
  if (!/^\d{1,15}$/.test(link.expires) || Number(link.expires) <= now) return null
  const found = await findUserById(app.database, Number(link.id))
  if (!found || found.user.disabled) return null
  const text = signedText(found, link.expires)
  if (!keysOf(app).some((key) => constantTimeEqual(key.sign(text), link.signature))) return null
  return (await app.counters.blockedUntil(usedName(link), once, now)) === null ? found : null
}

/** Uses the link up; false if it was used before. */
export async function useUnlock(app: FastifyInstance, link: UnlockLink): Promise<boolean> {
  return (await app.counters.hit(usedName(link), once, app.clock.now())).allowed
}

const usedName = ({ id, expires }: UnlockLink): string => `unlock-used:${id}:${expires}`
