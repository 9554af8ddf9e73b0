import { limitedAddress } from '../../platform/http/client-address.ts'

// Names of counters. They contain the canonical address of an account, so that unknown addresses are limited like known
// ones.

/** Failed passwords of an account from one address. */
export const passwordsFrom = (account: string, ip: string): string => `login:${account}|${limitedAddress(ip)}`

/** Failed passwords of an account from all addresses. */
export const passwordsOf = (account: string): string => `account:${account}`

/** Wrong mailed codes of an account from one address. */
export const mailedCodesFrom = (account: string, ip: string): string => `login-code:${account}|${limitedAddress(ip)}`

/** Wrong mailed codes of an account from all addresses. */
export const mailedCodesOf = (account: string): string => `login-code-account:${account}`

/** Wrong second factors of a user. */
export const secondFactorsOf = (userId: number): string => `two-factor:${userId}`

/** Wrong second factors of a user, counted over a longer window. */
export const allSecondFactorsOf = (userId: number): string => `two-factor-account:${userId}`
