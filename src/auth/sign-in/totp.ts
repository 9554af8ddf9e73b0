import { createGuardrails, generateSecret, generateURI, verifySync } from 'otplib'

/** Time step in seconds (RFC 6238 section 4). */
const period = 30

/** Secrets of users who came from Laravel have 10 bytes. */
const guardrails = createGuardrails({ MIN_SECRET_BYTES: 10 })

/** 20 random bytes in base32, as RFC 4226 section 4 recommends. */
export const newSecret = (): string => generateSecret()

/**
 * Returns the time step of a valid six-digit code (RFC 6238), within `window` steps of `now` (Unix ms) and later than
 * `after`, or null. Ignores spaces.
 */
export function stepOfCode(
  code: string,
  { secret, now, window, after }: { secret: string; now: number; window: number; after: number | null },
): number | null {
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return null
  const found = verifySync({
    secret,
    token,
    epoch: Math.floor(now / 1000),
    epochTolerance: window * period,
    period,
    guardrails,
  })
  // Compared here, because the library throws if the clock went back since the last code.
  return found.valid && 'timeStep' in found && found.timeStep > (after ?? -1) ? found.timeStep : null
}

/** Returns the `otpauth://` URI for the QR code. A colon would end the issuer's name. */
export const otpauthUrl = (issuer: string, email: string, secret: string): string =>
  `${generateURI({ issuer: issuer.replaceAll(':', ' '), label: email, secret })}&algorithm=SHA1&digits=6&period=${period}`
