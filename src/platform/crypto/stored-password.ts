import { randomId } from './random.ts'
import { slowCostOf } from './slow-hash.ts'

/** argon2id (2 in the library) with 19 MiB, two passes and one lane: OWASP's first recommendation. */
export const argon2Parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** Prefix of hashes with the current parameters. */
export const currentHashes = `$argon2id$v=19$m=${argon2Parameters.memoryCost},t=${argon2Parameters.timeCost},p=${argon2Parameters.parallelism}$`

/** Tests for a hash with outdated parameters or another algorithm. */
export const needsRehash = (stored: string): boolean => !stored.startsWith(currentHashes)

/** Salt of the decoys. */
const decoySalt = 'c3ZjLW5vLXN1Y2gtdXNlcg'

/** Maximum number of legacy algorithms and parameters in the database. Each one slows every sign-in. */
export const maxLegacyCosts = 5

/** Adds the cost of a hash to those in use, and returns whether the maximum allows it. */
export function admitCost(costs: Set<string>, cost: string): boolean {
  if (cost === currentHashes || costs.has(cost)) return true
  if (costs.size >= maxLegacyCosts) return false
  costs.add(cost)
  return true
}

/** Why an import skips a user whose hash is of another kind. */
export const tooManyCosts = `svc has users with ${maxLegacyCosts} other kinds of password hashes. Each kind slows every sign-in.`

/** Returns the costs of legacy hashes. */
export const legacyCostsOf = (hashes: Iterable<string>): Set<string> =>
  new Set([...hashes].flatMap((stored) => (needsRehash(stored) ? (costOf(stored) ?? []) : [])))

/** Returns the algorithm and parameters of a stored hash, which determine the cost of a check, or null. */
export function costOf(stored: string): string | null {
  const [, bcrypt] = /^\$2[abxy]\$(\d\d)\$[./\w]{53}$/.exec(stored) ?? []
  if (bcrypt) return `$2b$${bcrypt}$`
  const [, argon2] = /^(\$argon2id?\$(?:v=\d+\$)?m=\d+,t=\d+,p=\d+\$)[\w+/]+\$[\w+/]+$/.exec(stored) ?? []
  return argon2 ?? slowCostOf(stored)
}

/** A hash of this cost that matches no password. Its length is part of the cost: PBKDF2 takes time for each block. */
function decoyOf(cost: string): string {
  if (cost.startsWith('$2')) return `${cost}${'a'.repeat(21)}u${'a'.repeat(31)}`
  const length = Number(/,l=(\d+)\$$/.exec(cost)?.[1] ?? 32)
  return `${cost}${decoySalt}$${Buffer.alloc(length, 'no user has this').toString('base64').replaceAll('=', '')}`
}

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
