import { hash, timingSafeEqual } from 'node:crypto'

/** SHA-256 of the text's UTF-8 as 64 lower-case hex digits. */
export const sha256Hex = (text: string): string => hash('sha256', text, 'hex')

/** SHA-256 of the text's UTF-8 as 43 characters of base64url. */
export const sha256Base64url = (text: string): string => hash('sha256', text, 'base64url')

/** Whether two texts are equal, in a time that does not depend on where they differ. */
export function constantTimeEqual(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}
