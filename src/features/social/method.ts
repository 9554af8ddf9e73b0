import type { AuthenticationMethod } from '../../auth/sign-in/authentication-methods.ts'

declare module '../../auth/sign-in/channel.ts' {
  interface Channels {
    social: true
  }
}

declare module '../../auth/sign-in/authentication-methods.ts' {
  interface AmrValues {
    fed: true
  }
}

/**
 * How the user authenticated at the provider is unknown. RFC 8176 has no value for that; `fed` is the one that Microsoft
 * Entra uses.
 */
export const socialMethod: AuthenticationMethod = { name: 'social', amr: ['fed'] }
