export const factor = '/user/two-factor-authentication'
export const confirming = '/user/confirmed-two-factor-authentication'
export const recovery = '/user/two-factor-recovery-codes'

/** Every route that manages the second factor. */
export const routes = [
  ['POST', factor],
  ['POST', confirming],
  ['DELETE', factor],
  ['GET', '/user/two-factor-qr-code'],
  ['GET', '/user/two-factor-secret-key'],
  ['GET', recovery],
  ['POST', recovery],
] as const
