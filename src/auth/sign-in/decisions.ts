import type { User } from '../../identity/user.ts'
import { HttpError } from '../../platform/errors.ts'
import type { Act, Visit } from '../access/visit.ts'
import type { Channel } from './channel.ts'

/** A requested account, before svc creates it. */
export interface AskedAccount {
  name: string
  email: string
  username: string | null
  given_name: string | null
  family_name: string | null
  fields: Readonly<Record<string, unknown>>
  /** How the user will sign in: `password`, or the name of another way. */
  method: string
  isInvited: boolean
}

/** The account of an invitation. */
export const invitedAccount = (facts: Pick<AskedAccount, 'name' | 'email' | 'method'>): AskedAccount => ({
  ...facts,
  ...{ username: null, given_name: null, family_name: null, fields: {}, isInvited: true },
})

/** A sign-in whose factors are proved. */
export interface ProvedSignIn {
  user: User
  channel: Channel
  /** Name of the first factor. */
  method: string
  /** `amr` values (RFC 8176). */
  amr: readonly string[]
  isNewAccount: boolean
}

/** Access tokens that svc is about to issue. */
export interface AskedToken {
  /** Null for a machine. */
  user: User | null
  clientId: string
  /** Grant type at the token endpoint; `personal_access_token` and `session` for tokens of svc's own routes. */
  grant: string
  scopes: readonly string[]
  /** `aud` of the access token. */
  audience: string
}

/**
 * Asks the services of the operator before svc decides. A refusal throws 422, or 403 for a token, with the code
 * `denied_by_policy`. Without an answer, `on_failure: deny` throws 503.
 */
export interface Decisions {
  registration(visit: Visit, account: AskedAccount): Promise<void>
  /** `second_factor`: the user must also prove one, and has not. */
  signIn(visit: Visit, signIn: ProvedSignIn): Promise<'allowed' | 'second_factor'>
  /** Returns the claims to add. */
  token(act: Act, token: AskedToken): Promise<Readonly<Record<string, unknown>>>
}

declare module 'fastify' {
  interface FastifyInstance {
    decisions: Decisions
  }
}

declare module '../../platform/errors.ts' {
  interface ErrorCodes {
    denied_by_policy: true
  }
}

/** 422 with the reason that the operator's service gave, or a general one. 403 for a token, which has no form. */
export const deniedByPolicy = (message: string, what: 'account' | 'token'): HttpError =>
  what === 'token'
    ? new HttpError(403, 'denied_by_policy', message)
    : new HttpError(422, 'denied_by_policy', message, { errors: { email: [message] } })

export const isDeniedByPolicy = (error: unknown): error is HttpError =>
  error instanceof HttpError && error.code === 'denied_by_policy'

const noFactor = 'This sign-in needs a second factor, and your account has none.'

/** 422 for a user who must prove a second factor and has none. */
export const secondFactorDemanded = (): HttpError =>
  new HttpError(422, 'second_factor_required', noFactor, { errors: { email: [noFactor] } })

const refusals: readonly string[] = ['denied_by_policy', 'second_factor_required', 'terms_not_accepted']

/** Tests for a sign-in that is refused although its proof is right: by a hook, or until the user accepts the terms. */
export const isRefusedSignIn = (error: unknown): error is HttpError =>
  error instanceof HttpError && refusals.includes(error.code)
