import type { FastifyInstance } from 'fastify'
import type { EventContext } from '../../identity/events.ts'
import type { User } from '../../identity/user.ts'
import { type HttpError, unauthenticated } from '../../platform/errors.ts'

/** Properties of every caller, whatever its credential. */
interface Credential {
  /** The session's public id, the token's id or the JWT's `jti`. */
  credentialId: string
  abilities: readonly string[]
  /** Unix milliseconds; null for no expiry. */
  expiresAt: number | null
  /** Whether the caller proved to have the key to which the credential is bound. */
  readonly isBound: boolean
  /** Null for a machine. */
  user: User | null
  /** OpenID scopes that limit the user fields the caller can read; null for all fields. */
  readonly profileScopes: readonly string[] | null
  can(ability: string): boolean
  cant(ability: string): boolean
}

/** Claims of a JWT about its audience and the sign-in of its user (RFC 9068 section 2.2). */
export interface TokenSignIn {
  aud: string
  acr?: string
  /** Unix seconds. */
  auth_time?: number
}

/** The caller of a bearer or DPoP token. */
export interface TokenCaller extends Credential {
  readonly kind: 'api_token' | 'user_jwt' | 'machine'
  /** Name that the user gave the token; null for tokens of clients. */
  readonly name: string | null
  /** Thumbprint of the key to which an API token is bound; its own new tokens are bound to it too. */
  readonly keyThumbprint?: string | null
  /** Client of a JWT. */
  readonly clientId?: string
  /** The sign-in of a JWT. */
  readonly signIn?: TokenSignIn
  /** Who acts for the user (RFC 8693 section 4.1): the client_id of an agent, or the id of a user. */
  readonly actor?: string
  /** Claims of a token that an API gets in place of this one. */
  readonly delegation?: object
  /** Returns the error if the sign-in of the token's user does not suffice for the ability, or null. */
  signInRefusal?(ability: string): HttpError | null
  /** Revokes the token that authenticates the request; throws 401 if it was revoked meanwhile. */
  revoke(visit: { app: FastifyInstance; origin: EventContext }): Promise<void>
}

/** The authenticated caller of a request. */
export type Caller = SessionCaller | TokenCaller

const all: readonly string[] = ['*']

/** An administrator who acts as a user. */
export interface Impersonation {
  /** Id of the administrator. */
  by: number
  /** Unix milliseconds. */
  until: number
  /** Public id of the session of the administrator, with whose end this ends too. No browser has its cookie. */
  session: string
}

/** The caller of a first-party session. It has every ability. */
export class SessionCaller implements Credential {
  readonly kind = 'session'
  readonly name = null
  readonly credentialId: string
  readonly abilities = all
  readonly expiresAt: number | null
  readonly profileScopes = null
  readonly user: User
  /** Id of the administrator who acts as the user. */
  readonly actor?: string
  /** The same as a claim, for APIs. */
  readonly delegation?: object
  readonly isBound: boolean
  /** Id of the session's row, which changes when the session is renewed; null without one. */
  readonly rowId: string | null

  constructor(
    { id, publicId, bindingId }: { id: string | null; publicId: string; bindingId: string | null },
    user: User,
    impersonation?: Impersonation,
  ) {
    this.credentialId = publicId
    this.user = user
    this.rowId = id
    this.isBound = bindingId !== null
    this.expiresAt = impersonation?.until ?? null
    if (!impersonation) return
    this.actor = String(impersonation.by)
    this.delegation = { sub: this.actor }
  }

  can(): boolean {
    return true
  }

  cant(): boolean {
    return false
  }
}

const kinds = { session: 'session', api_token: 'token', user_jwt: 'jwt', machine: 'jwt' } as const

/** Kind of a caller's credential, as guard rules and responses name it. */
export const kindOf = ({ kind }: Pick<Caller, 'kind'>) => kinds[kind]

/** Returns the caller on a route that requires one. */
export function callerOf({ caller }: { caller: Caller | null }): Caller {
  if (!caller) throw unauthenticated()
  return caller
}

/** Returns the user on a route for users. Throws 401 for a machine. */
export function requireUser(asker: { caller: Caller | null }): User {
  const { user } = callerOf(asker)
  if (!user) throw unauthenticated()
  return user
}
