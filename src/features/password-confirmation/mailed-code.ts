import { randomInt } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Visit } from '../../auth/access/visit.ts'
import { typedCode } from '../../auth/sign-in/typed-code.ts'
import { shareOf } from '../../identity/account-mail.ts'
import { recordEvent } from '../../identity/events.ts'
import type { User } from '../../identity/user.ts'
import { constantTimeEqual } from '../../platform/crypto/hash.ts'
import { deriveKeys } from '../../platform/crypto/keys.ts'

declare module 'fastify' {
  interface Session {
    /** Keyed hash of the last mailed code. Only this session accepts it. */
    confirmationCode?: { mac: string; expiresAt: number }
  }
}

/** Lifetime of a code in milliseconds. */
const validity = 600_000

/** Letters and digits without I, O, 0 and 1. Eight of them are 40 bits: too many to guess in ten minutes. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

const newCode = (): string => Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('')

const keysOf = (app: FastifyInstance) => deriveKeys(app.config.current().app.secret, 'confirmation-code')

const signedText = (code: string, expiresAt: number): string => `${expiresAt}\0${code}`

/** Mails a new code to the user and invalidates the earlier one. */
export async function mailCode(visit: Visit, user: User): Promise<void> {
  const { app, session } = visit
  const origin = visit.origin
  const code = newCode()
  const expiresAt = origin.now + validity
  const data = { code: `${code.slice(0, 4)}-${code.slice(4)}`, minutes: validity / 60_000 }
  const language = user.language ?? origin.language
  const mail = { to: user.email, template: 'confirmation-code', language, data, expiresAt } as const
  await app.database.transaction(async (tx) => {
    await app.mail.queue(tx, mail, { share: shareOf(user, user.email), userId: user.id, ipAddress: origin.ipAddress })
    await recordEvent(tx, origin, { type: 'confirmation_code_sent', userId: user.id })
  })
  // Stored last, so that a rejected mail keeps the earlier code.
  session.confirmationCode = { mac: keysOf(app)[0]?.sign(signedText(code, expiresAt)) ?? '', expiresAt }
  await session.save()
}

/** Checks a code mailed for this session and uses it up. Ignores spaces, dashes and case. */
export function redeemCode({ app, session }: Visit, text: string): boolean {
  const sent = session.confirmationCode
  if (!sent || app.clock.now() >= sent.expiresAt) return false
  const code = typedCode(text).toUpperCase().replaceAll(/[\s-]/g, '')
  if (!keysOf(app).some((key) => constantTimeEqual(key.sign(signedText(code, sent.expiresAt)), sent.mac))) return false
  delete session.confirmationCode
  return true
}
