import { deriveKeys } from '../../../platform/crypto/keys.ts'
import type { MacKey } from '../../../platform/crypto/mac.ts'

/** Derives the successors of refresh tokens, which are the same on every replica. `secrets`: `app.secret`. */
export function successorKeyOf(secrets: readonly string[]): MacKey {
  const [key] = deriveKeys(secrets, 'refresh-successor')
  if (!key) throw new Error('The OAuth server needs app.secret.')
  return key
}

/** The refresh token that replaces one, so that concurrent refreshes get the same one. */
export const successorOf = (key: MacKey, token: string): string => key.sign(`refresh\0${token}`)
