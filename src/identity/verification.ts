import type { FastifyInstance } from 'fastify'
import { linkTo } from '../pages/links.ts'
import { constantTimeEqual, sha256Hex } from '../platform/crypto/hash.ts'
import { deriveKeys } from '../platform/crypto/keys.ts'
import type { Tx } from '../platform/database/database.ts'
import type { MailCause } from '../platform/mail/budget.ts'
import { shareOf } from './account-mail.ts'
import { type EventContext, recordEvent } from './events.ts'
import { maskedAddress } from './masked-address.ts'
import type { User } from './user.ts'

/** Lifetime of a verification link in milliseconds. */
const validity = 3_600_000

/** Contents of a verification link: user, hashed address and expiry (Unix seconds). */
interface VerificationLink {
  id: string
  hash: string
  expires: string
  signature: string
}

const keysOf = (app: FastifyInstance) => deriveKeys(app.config.current().app.secret, 'verify-email')

const signedText = ({ id, hash, expires }: Omit<VerificationLink, 'signature'>): string => `${id}\0${hash}\0${expires}`

/**
 * Queues the mail that verifies the user's pending or current address, with a link valid for one hour. Throws 429 when
 * a mail budget is spent: for a registration only the mailbox's, otherwise also the user's and the source address's.
 */
export async function sendVerification(
  app: FastifyInstance,
  tx: Tx,
  origin: EventContext,
  user: User,
  by: 'user' | 'registration' = 'user',
): Promise<void> {
  const expiresAt = origin.now + validity
  const to = user.pending_email ?? user.email
  const facts = { id: String(user.id), hash: sha256Hex(to), expires: String(Math.floor(expiresAt / 1000)) }
  const { id, hash, expires } = facts
  const signature = keysOf(app)[0]?.sign(signedText(facts)) ?? ''
  const link = linkTo(app.config.current(), 'verify', { id, hash }, { expires, signature })
  // Masked, because the new address may be mistyped and belong to a stranger.
  const change = user.pending_email ? { from: maskedAddress(user.email), to } : {}
  const data = { link, minutes: validity / 60_000, ...change }
  const cause: MailCause =
    by === 'user'
      ? { share: shareOf(user, to), userId: user.id, ipAddress: origin.ipAddress }
      : { share: 'guest', userId: null, ipAddress: null }
  await app.mail.queue(
    tx,
    { to, template: 'verify-email', language: user.language ?? origin.language, data, expiresAt },
    cause,
  )
  await recordEvent(tx, origin, { type: 'verification_sent', userId: user.id })
}

/** Tests the signature and expiry of a link. */
export function isSigned(app: FastifyInstance, link: VerificationLink): boolean {
  if (!/^\d{1,12}$/.test(link.expires) || Number(link.expires) * 1000 <= app.clock.now()) return false
  return keysOf(app).some((key) => constantTimeEqual(key.sign(signedText(link)), link.signature))
}

/** Returns which address the link verifies; null if it belongs to another user or address. */
export function addressOf({ id, hash }: VerificationLink, user: User): 'current' | 'pending' | null {
  if (id !== String(user.id)) return null
  if (constantTimeEqual(hash, sha256Hex(user.email))) return 'current'
  const { pending_email: pending } = user
  return pending !== undefined && constantTimeEqual(hash, sha256Hex(pending)) ? 'pending' : null
}
