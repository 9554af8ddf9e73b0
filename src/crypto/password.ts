import { hashSync, verifySync } from '@node-rs/argon2'
import { verifySync as verifyBcrypt } from '@node-rs/bcrypt'
import { randomId } from './random.ts'

/** argon2id (the library's 2) with 19 MiB, two passes, one lane (OWASP's first recommendation). */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
const current = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=${parameters.parallelism}$`

/** Whether a stored hash was made with older parameters or another algorithm. */
export const needsRehash = (stored: string): boolean => !stored.startsWith(current)

/** A hash that no password fits, for the equal time of an unknown user. */
export const nobodysHash = `${current}c3ZjLW5vLXN1Y2gtdXNlcg$Zm9yIGVxdWFsIHRpbWUsIG5vdCBmb3IgYW55IHVzZXI`

/** Stands where a password was taken away: it fits nothing, and is another each time, so that a change is seen. */
export const noPassword = (): string => `!${randomId()}`

/** Whether what is stored is a password's hash. */
export const isPassword = (stored: string | null): stored is string => stored !== null && !stored.startsWith('!')

/** The argon2id hash of a password, in PHC form; it keeps its thread busy for about 10 ms. */
export const hashPassword = (password: string): string => hashSync(password, parameters)

/** Whether the password fits an argon2id, argon2i or bcrypt (`$2y$`, `$2a$`, `$2b$`) hash; an unreadable hash fits nothing. */
export function verifyPassword(stored: string, password: string): boolean {
  try {
    return stored.startsWith('$2') ? verifyBcrypt(password, stored) : verifySync(stored, password)
  } catch {
    return false
  }
}
