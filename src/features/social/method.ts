import type { AuthenticationMethod } from '../../login/authentication-methods.ts'

declare module '../../login/channel.ts' {
  interface Channels {
    social: true
  }
}

/** How the user authenticated at the provider is unknown. */
export const socialMethod: AuthenticationMethod = { name: 'social', amr: ['fed'] }
