import { generateSecret, generateURI, verifySync } from 'otplib'

/** Seconds of one step (RFC 6238 section 4). */
const period = 30

/** 20 random bytes in base32, the length that RFC 4226 section 4 recommends. */
export const newSecret = (): string => generateSecret()

/**
 * The step of a code that fits at `now` (unix ms), give or take `window` steps, and is later than `after`; else null (RFC 6238).
 * Six digits of SHA-1; spaces, which people type between them, do not count.
 */
export function stepOfCode(
  code: string,
  { secret, now, window, after }: { secret: string; now: number; window: number; after: number | null },
): number | null {
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return null
  const found = verifySync({ secret, token, epoch: Math.floor(now / 1000), epochTolerance: window * period, period })
  // Compared here: the library throws where the clock was set back since the last code.
  return found.valid && 'timeStep' in found && found.timeStep > (after ?? -1) ? found.timeStep : null
}

/** The `otpauth://` address that an authenticator app reads from the QR code; a colon would end the issuer's name in it. */
export const otpauthUrl = (issuer: string, email: string, secret: string): string =>
  `${generateURI({ issuer: issuer.replaceAll(':', ' '), label: email, secret })}&algorithm=SHA1&digits=6&period=${period}`
