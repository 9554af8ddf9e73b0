import { randomBytes } from 'node:crypto'

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

/** 256 random bits as 43 base64url characters. */
export const randomId = (): string => randomBytes(32).toString('base64url')
