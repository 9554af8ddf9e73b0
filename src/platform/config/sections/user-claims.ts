import { choice, list } from './kinds.ts'

const USER_CLAIMS = ['role', 'groups', 'name', 'preferred_username', 'updated_at', 'email', 'email_verified'] as const

/** Claim about the user that the configuration can add to tokens. */
export type UserClaim = (typeof USER_CLAIMS)[number]

/** List of claims about the user. */
export const userClaims = (description: string) =>
  list(choice(USER_CLAIMS, { description: 'A claim.' }), {
    default: [],
    example: ['role', 'email'],
    description: `${description} email is omitted unless the address is verified.`,
  })
