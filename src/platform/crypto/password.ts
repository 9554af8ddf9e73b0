import { hashSync, verifySync } from '@node-rs/argon2'
import { canonicalPassword } from './canonical-password.ts'
import { verifySlowHash } from './slow-hash.ts'
import { argon2Parameters } from './stored-password.ts'

/** Returns the argon2id hash of a password in PHC format. Blocks its thread for about 10 ms. */
export const hashPassword = (password: string): string => hashSync(canonicalPassword(password), argon2Parameters)

/**
 * Checks a password against an argon2id, argon2i, bcrypt (`$2y$`, `$2a$`, `$2b$`), scrypt or PBKDF2 hash. An unreadable
 * hash matches nothing. Blocks its thread.
 */
export async function verifyPassword(stored: string, password: string): Promise<boolean> {
  // Loads native code only if there are such hashes. Outside of `try`, because a missing package is not a wrong password.
  const bcrypt = stored.startsWith('$2') ? await import('@node-rs/bcrypt') : null
  try {
    if (bcrypt) return bcrypt.verifySync(password, stored)
    return stored.startsWith('$argon2') ? verifySync(stored, password) : verifySlowHash(stored, password)
  } catch {
    return false
  }
}
