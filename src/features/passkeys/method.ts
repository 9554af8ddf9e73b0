import type { AuthenticationMethod } from '../../auth/sign-in/authentication-methods.ts'

declare module '../../auth/sign-in/channel.ts' {
  interface Channels {
    passkey: true
  }
}

/**
 * Passkeys do not reliably attest hardware (`hwk`) or software (`swk`) keys. If the authenticator verified the user by PIN
 * or biometrics, the passkey is two factors in one.
 */
export const passkeyMethod = (userVerified: boolean): AuthenticationMethod => ({
  name: 'passkey',
  amr: userVerified ? ['pop', 'user', 'mfa'] : ['pop', 'user'],
})
