import type { FastifyInstance } from 'fastify'
import { constantTimeEqual, sha256Hex } from '../crypto/hash.ts'
import { deriveKeys } from '../crypto/keys.ts'
import type { Tx } from '../database/database.ts'
import { linkTo } from '../pages/links.ts'
import { type EventContext, recordEvent } from './events.ts'
import type { User } from './user.ts'

/** How long a verification link works, in milliseconds. */
const validity = 3_600_000

/** What a verification link says and proves: whom it is for, which address (hashed), until when (unix seconds). */
interface VerificationLink {
  id: string
  hash: string
  expires: string
  signature: string
}

const keysOf = (app: FastifyInstance) => deriveKeys(app.config.current().app.secret, 'verify-email')

const signedText = ({ id, hash, expires }: Omit<VerificationLink, 'signature'>): string => `${id}\0${hash}\0${expires}`

/**
 * Queues the mail with the link that verifies the user's pending address, or else the current one: for this user, this
 * address and an hour. Throws 429
 * when a mail budget is spent: of the mailbox alone for a registration, else of the user and the source address too.
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
  const data = { link, minutes: validity / 60_000 }
  const cause = by === 'user' ? { userId: user.id, ipAddress: origin.ipAddress } : { userId: null, ipAddress: null }
  await app.mail.queue(tx, { to, template: 'verify-email', data, expiresAt }, cause)
  await recordEvent(tx, origin, { type: 'verification_sent', userId: user.id })
}

/** Whether svc signed the link and its time has not passed. */
export function isSigned(app: FastifyInstance, link: VerificationLink): boolean {
  if (!/^\d{1,12}$/.test(link.expires) || Number(link.expires) * 1000 <= app.clock.now()) return false
  return keysOf(app).some((key) => constantTimeEqual(key.sign(signedText(link)), link.signature))
}

/** Which address of the user the link verifies; null when it is for another user or address. */
export function addressOf({ id, hash }: VerificationLink, user: User): 'current' | 'pending' | null {
  if (id !== String(user.id)) return null
  if (constantTimeEqual(hash, sha256Hex(user.email))) return 'current'
  const { pending_email: pending } = user
  return pending !== undefined && constantTimeEqual(hash, sha256Hex(pending)) ? 'pending' : null
}
