import { randomBytes, randomFillSync } from 'node:crypto'

const alphanumerics = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Without 0 and o, and without 1, i and l, which look alike. */
const readable = 'abcdefghjkmnpqrstuvwxyz23456789'

/** Returns `length` uniformly random characters from `[A-Za-z0-9]`. */
export const randomAlphanumeric = (length: number): string => randomFrom(alphanumerics, length)

/** Returns `length` uniformly random characters for people to copy: lower case, without look-alikes. */
export const randomReadable = (length: number): string => randomFrom(readable, length)

function randomFrom(characters: string, length: number): string {
  // Larger bytes would bias towards the first characters.
  const limit = 256 - (256 % characters.length)
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length + 8)) {
      if (byte < limit && text.length < length) text += characters[byte % characters.length]
    }
  }
  return text
}

const idLength = 32

/** Random bytes for the next ids. One call for many ids costs a tenth of one call for each. svc erases used bytes. */
const reserve = Buffer.alloc(64 * idLength)
let used = reserve.length

/** 256 random bits as 43 base64url characters. */
export function randomId(): string {
  if (used >= reserve.length) {
    randomFillSync(reserve)
    used = 0
  }
  const bytes = reserve.subarray(used, used + idLength)
  used += idLength
  const id = bytes.toString('base64url')
  bytes.fill(0)
  return id
}
