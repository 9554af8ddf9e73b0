import type { Config } from '../config/schema.ts'
import { isBreached } from '../crypto/breached-passwords.ts'
import { canonicalPassword } from '../crypto/canonical-password.ts'
import { validationFailed } from '../errors.ts'
import { isCommonPassword } from './common-passwords.ts'

/** Throws 422 on `password` for a password without a confirmation that violates `passwords` in the configuration. */
export function requireNewPassword(password: string, config: Config): void {
  const texts = newPasswordErrors(password, password, config)
  if (texts.length > 0) throw validationFailed({ password: texts })
}

/** Returns Laravel's messages for violations of `passwords` in the configuration. Lengths count code points. */
export function newPasswordErrors(typed: string, confirmation: unknown, { passwords }: Config): string[] {
  const password = canonicalPassword(typed)
  const { min_length: min, max_length: max, block_common, breached } = passwords
  const length = [...password].length
  return [
    ...(length < min ? [`The password field must be at least ${min} characters.`] : []),
    ...(length > max ? [`The password field must not be greater than ${max} characters.`] : []),
    ...(typeof confirmation === 'string' && canonicalPassword(confirmation) === password
      ? []
      : ['The password field confirmation does not match.']),
    ...((block_common && isCommonPassword(password)) || (breached.file !== null && isBreached(breached.file, password))
      ? ['The given password has appeared in a data leak. Please choose a different password.']
      : []),
  ]
}
