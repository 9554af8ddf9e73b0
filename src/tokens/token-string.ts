import { crc32 } from 'node:zlib'
import { sha256Hex } from '../crypto/hash.ts'
import { randomAlphanumeric } from '../crypto/random.ts'

/** What a bearer of this shape asks for: a row by id with this secret, or (from before ids were part of it) by hash alone. */
export type TokenKey = { id: bigint; hash: string } | { id: null; hash: string }

const largestId = 2n ** 63n - 1n

/** A new secret: prefix, 40 random characters, and the CRC-32 of those 40 in hex, by which secret scanners know it. */
export function newSecret(prefix: string): string {
  const entropy = randomAlphanumeric(40)
  return `${prefix}${entropy}${checksum(entropy)}`
}

/** CRC-32 (zlib) of the text as 8 lower-case hex digits. */
export const checksum = (entropy: string): string => crc32(entropy).toString(16).padStart(8, '0')

/** What is stored of a secret: SHA-256 (hex) of the whole of it, prefix and checksum included. */
export const secretHash = (secret: string): string => sha256Hex(secret)

/** The lookup key of a bearer; null for what no row can have, so that nothing malformed reaches a query. */
export function parseToken(bearer: string): TokenKey | null {
  const bar = bearer.indexOf('|')
  if (bar < 0) return { id: null, hash: secretHash(bearer) }
  const digits = bearer.slice(0, bar)
  const secret = bearer.slice(bar + 1)
  if (secret === '' || !/^\d{1,19}$/.test(digits)) return null
  const id = BigInt(digits)
  return id > largestId ? null : { id, hash: secretHash(secret) }
}
