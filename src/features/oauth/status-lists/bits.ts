import { deflateSync } from 'node:zlib'

/** Number of places in a list. The length does not depend on the number of tokens, so it does not reveal it. */
export const listSize = 65_536

/** Status list with one bit for each token, least significant bit first; 1 is invalid. */
export function encodeList(invalid: Iterable<number>, size = listSize): { bits: 1; lst: string } {
  const bytes = Buffer.alloc(size / 8)
  for (const index of invalid) bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (1 << (index & 7))
  return { bits: 1, lst: deflateSync(bytes, { level: 9 }).toString('base64url') }
}
