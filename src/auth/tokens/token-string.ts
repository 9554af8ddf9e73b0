import { crc32 } from 'node:zlib'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import { randomAlphanumeric } from '../../platform/crypto/random.ts'
import { maxRowId } from '../../platform/database/ids.ts'

/** Lookup key of a bearer token: id and secret, or only the hash for legacy tokens. */
export type TokenKey = { id: bigint; hash: string } | { id: null; hash: string }

/** Creates a secret: prefix, 40 random characters, and their CRC-32 in hex, which secret scanners recognise. */
export function newSecret(prefix: string): string {
  const entropy = randomAlphanumeric(40)
  return `${prefix}${entropy}${checksum(entropy)}`
}

/** CRC-32 (zlib) of the text as 8 lowercase hex digits. */
export const checksum = (entropy: string): string => crc32(entropy).toString(16).padStart(8, '0')

/** Stored hash: SHA-256 (hex) of the whole secret, including prefix and checksum. */
export const secretHash = (secret: string): string => sha256Hex(secret)

/** Parses a bearer token to its lookup key; null for malformed text, which never reaches a query. */
export function parseToken(bearer: string): TokenKey | null {
  const bar = bearer.indexOf('|')
  if (bar < 0) return { id: null, hash: secretHash(bearer) }
  const digits = bearer.slice(0, bar)
  const secret = bearer.slice(bar + 1)
  if (secret === '' || !/^\d{1,19}$/.test(digits)) return null
  const id = BigInt(digits)
  return id > maxRowId ? null : { id, hash: secretHash(secret) }
}
