import { hash, timingSafeEqual } from 'node:crypto'

/** SHA-256 of the UTF-8 text as 64 lowercase hex digits. */
export const sha256Hex = (text: string | Buffer): string => hash('sha256', text, 'hex')

/** SHA-256 of the UTF-8 text as 43 base64url characters. */
export const sha256Base64url = (text: string): string => hash('sha256', text, 'base64url')

/** Compares two texts in constant time. */
export function constantTimeEqual(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}
