import { renderSVG } from 'uqr'
import { requireUser } from '../../auth/access/caller.ts'
import type { Visit } from '../../auth/access/visit.ts'
import { otpauthUrl } from '../../auth/sign-in/totp.ts'
import { findTwoFactor } from '../../identity/two-factor.ts'

/** What an authenticator app needs. */
interface Setup {
  /** Base32. */
  secret: string
  /** `otpauth://…`. */
  url: string
  /** The QR code of the URL: an `<svg>` element. */
  svg: string
}

/** Returns the secret of the user's second factor for the authenticator app; null without one. */
export async function setupOf(visit: Visit): Promise<Setup | null> {
  const { config, database, secondFactor } = visit.app
  const user = requireUser(visit)
  const stored = await findTwoFactor(database, user.id)
  const secret = stored && secondFactor.secretOf(user.id, stored)
  if (secret === null) return null
  const url = otpauthUrl(config.current().app.name, user.email, secret)
  return { secret, url, svg: renderSVG(url, { border: 2, pixelSize: 4 }) }
}
