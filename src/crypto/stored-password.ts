import { randomId } from './random.ts'
import { slowCostOf } from './slow-hash.ts'

/** argon2id (2 in the library) with 19 MiB, two passes and one lane: OWASP's first recommendation. */
export const argon2Parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** Prefix of hashes with the current parameters. */
export const currentHashes = `$argon2id$v=19$m=${argon2Parameters.memoryCost},t=${argon2Parameters.timeCost},p=${argon2Parameters.parallelism}$`

/** Tests for a hash with outdated parameters or another algorithm. */
export const needsRehash = (stored: string): boolean => !stored.startsWith(currentHashes)

/** Salt and hash of the argon2 decoy. */
const decoy = 'c3ZjLW5vLXN1Y2gtdXNlcg$Zm9yIGVxdWFsIHRpbWUsIG5vdCBmb3IgYW55IHVzZXI'

/** Returns the algorithm and parameters of a stored hash, which determine the cost of a check, or null. */
export function costOf(stored: string): string | null {
  const [, bcrypt] = /^\$2[abxy]\$(\d\d)\$[./\w]{53}$/.exec(stored) ?? []
  if (bcrypt) return `$2b$${bcrypt}$`
  const [, argon2] = /^(\$argon2id?\$(?:v=\d+\$)?m=\d+,t=\d+,p=\d+\$)[\w+/]+\$[\w+/]+$/.exec(stored) ?? []
  return argon2 ?? slowCostOf(stored)
}

/** A hash of this cost that matches no password. */
const decoyOf = (cost: string): string =>
  cost.startsWith('$2') ? `${cost}${'a'.repeat(21)}u${'a'.repeat(31)}` : `${cost}${decoy}`

/** Hash for an unknown user: matches no password, and takes as long to check. */
export const unknownUserHash = decoyOf(currentHashes)

/**
 * Returns the hashes to check for one password: the stored hash or a decoy, plus a decoy for every other cost in use.
 * The total work is the same for every account, known or not.
 */
export function checksOf(stored: string | null, legacyCosts: ReadonlySet<string>): [string, ...string[]] {
  const own = isPassword(stored) ? costOf(stored) : null
  const first = own === null || stored === null ? unknownUserHash : stored
  const others = [currentHashes, ...legacyCosts].filter((cost) => cost !== (own ?? currentHashes))
  return [first, ...others.map(decoyOf)]
}

/** Placeholder for a removed password: matches nothing, unique per call so that sessions see a change. */
export const noPassword = (): string => `!${randomId()}`

/** Tests for a password hash. */
export const isPassword = (stored: string | null): stored is string => stored !== null && !stored.startsWith('!')
