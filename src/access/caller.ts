import type { User } from '../users/user.ts'

/** Who is asking: found by the guard, the same shape in every mode. */
export interface Caller {
  kind: 'session' | 'api_token' | 'user_jwt' | 'machine'
  /** The session's public id, the token's id or the JWT's `jti`. */
  credentialId: string
  abilities: readonly string[]
  /** Unix milliseconds, or null for none. */
  expiresAt: number | null
  /** Null for a machine. */
  user: User | null
  /** The OpenID scopes that limit what the caller reads of its user; null when it reads everything. */
  readonly profileScopes: readonly string[] | null
  can(ability: string): boolean
  cant(ability: string): boolean
}

const all: readonly string[] = ['*']

/** The caller of a first-party session: may do everything its user may. */
export class SessionCaller implements Caller {
  readonly kind = 'session'
  readonly credentialId: string
  readonly abilities = all
  readonly expiresAt = null
  readonly profileScopes = null
  readonly user: User

  constructor(credentialId: string, user: User) {
    this.credentialId = credentialId
    this.user = user
  }

  can(): boolean {
    return true
  }

  cant(): boolean {
    return false
  }
}
