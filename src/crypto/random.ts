import { randomBytes, randomFillSync } from 'node:crypto'

const alphanumerics = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Returns `length` uniformly random characters from `[A-Za-z0-9]`. */
export function randomAlphanumeric(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length + 8)) {
      // 248 = 4 × 62: larger bytes would bias towards the first characters.
      if (byte < 248 && text.length < length) text += alphanumerics[byte % 62]
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
