import { hash as argon2Hash, verify as argon2Verify } from '@node-rs/argon2'
import { verify as bcryptVerify } from '@node-rs/bcrypt'

/** argon2id (the library's 2) with 19 MiB, two passes, one lane (OWASP's first recommendation). */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
const current = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=${parameters.parallelism}$`

/** Whether a stored hash was made with older parameters or another algorithm. */
export const needsRehash = (stored: string): boolean => !stored.startsWith(current)

/** The argon2id hash of a password, in PHC form. */
export const hashPassword = (password: string): Promise<string> => argon2Hash(password, parameters)

/** Whether the password fits an argon2id, argon2i or bcrypt (`$2y$`, `$2a$`, `$2b$`) hash; an unreadable hash fits nothing. */
export async function verifyPassword(stored: string, password: string): Promise<boolean> {
  try {
    return stored.startsWith('$2') ? await bcryptVerify(password, stored) : await argon2Verify(stored, password)
  } catch {
    return false
  }
}
