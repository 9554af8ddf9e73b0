import { hashSync, verifySync } from '@node-rs/argon2'
import { verifySync as verifyBcrypt } from '@node-rs/bcrypt'
import { randomId } from './random.ts'

/** argon2id (the library's 2) with 19 MiB, two passes, one lane (OWASP's first recommendation). */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
/** What today's hashes begin with. */
export const currentHashes = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=${parameters.parallelism}$`

/** Whether a stored hash was made with older parameters or another algorithm. */
export const needsRehash = (stored: string): boolean => !stored.startsWith(currentHashes)

/** The salt and the hash of an argon2 decoy. */
const decoy = 'c3ZjLW5vLXN1Y2gtdXNlcg$Zm9yIGVxdWFsIHRpbWUsIG5vdCBmb3IgYW55IHVzZXI'

/** The algorithm and parameters of a stored hash, which decide how long a check takes; null for anything else. */
export function costOf(stored: string): string | null {
  const [, bcrypt] = /^\$2[abxy]\$(\d\d)\$[./\w]{53}$/.exec(stored) ?? []
  if (bcrypt) return `$2b$${bcrypt}$`
  const [, argon2] = /^(\$argon2id?\$(?:v=\d+\$)?m=\d+,t=\d+,p=\d+\$)[\w+/]+\$[\w+/]+$/.exec(stored) ?? []
  return argon2 ?? null
}

/** A hash of this cost that no password fits. */
const decoyOf = (cost: string): string =>
  cost.startsWith('$2') ? `${cost}${'a'.repeat(21)}u${'a'.repeat(31)}` : `${cost}${decoy}`

/** A hash that no password fits, for the equal time of an unknown user. */
export const nobodysHash = decoyOf(currentHashes)

/**
 * The hashes to check for one password: the stored one, or a decoy in its place, and a decoy of every other cost in use.
 * The total work is then the same for every account, known or not.
 */
export function checksOf(stored: string | null, legacyCosts: ReadonlySet<string>): [string, ...string[]] {
  const own = isPassword(stored) ? costOf(stored) : null
  const first = own === null || stored === null ? nobodysHash : stored
  const others = [currentHashes, ...legacyCosts].filter((cost) => cost !== (own ?? currentHashes))
  return [first, ...others.map(decoyOf)]
}

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
