import type { AuthenticationMethod } from '../../login/authentication-methods.ts'

declare module '../../login/channel.ts' {
  interface Channels {
    social: true
  }
}

declare module '../../login/authentication-methods.ts' {
  interface AmrValues {
    fed: true
  }
}

/**
 * How the user authenticated at the provider is unknown. RFC 8176 has no value for that; `fed` is the one that Microsoft
 * Entra uses.
 */
export const socialMethod: AuthenticationMethod = { name: 'social', amr: ['fed'] }
