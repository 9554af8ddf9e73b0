import {
  type Credentials,
  Emails,
  type LoginResult,
  Passwords,
  type ProfileChange,
  type Registration,
  repeated,
} from './account.ts'
import { UnauthorizedError } from './errors.ts'
import type { CallOptions, Request, User } from './operations.ts'
import { Passkeys } from './passkeys.ts'
import { Sessions, Tokens } from './tokens.ts'
import { type Call, type ClientOptions, Transport } from './transport.ts'
import { TwoFactor } from './two-factor.ts'

export type {
  Credentials,
  LoginResult,
  PasswordChange,
  PasswordReset,
  ProfileChange,
  Registration,
  VerificationLink,
} from './account.ts'
export type { components, paths } from './description.ts'
export { createDpopKey, type DpopKey } from './dpop.ts'
export {
  CsrfMismatchError,
  EmailUnverifiedError,
  type FieldErrors,
  ForbiddenError,
  NetworkError,
  NotFoundError,
  PasskeyError,
  PasswordConfirmationRequiredError,
  RateLimitedError,
  SvcError,
  TermsNotAcceptedError,
  TwoFactorRequiredError,
  UnauthorizedError,
  UnavailableError,
  ValidationError,
} from './errors.ts'
export type { BodyOf, CallOptions, Passkey, Request, ResultOf, Session, Token, User } from './operations.ts'
export type { PasskeyLogin } from './passkeys.ts'
export type { DeviceCredentials, NewToken } from './tokens.ts'
export type { ClientOptions } from './transport.ts'
export type { QrCode, SecondFactor } from './two-factor.ts'

/** A client of one svc: `createClient` creates it. */
export class SvcClient {
  readonly #transport: Transport
  readonly password: Passwords
  readonly email: Emails
  readonly twoFactor: TwoFactor
  readonly tokens: Tokens
  readonly sessions: Sessions
  readonly passkeys: Passkeys
  /** Calls any operation, with its types: `request('GET', '/user/social-accounts')`. */
  readonly request: Request

  constructor(options: ClientOptions) {
    const transport = new Transport(options)
    // Sound: the types of the description say what each operation takes and returns.
    const request = ((method, path, input) => transport.send(method, path, input as Call)) as Request
    this.#transport = transport
    this.request = request
    this.password = new Passwords(request)
    this.email = new Emails(request)
    this.twoFactor = new TwoFactor(request)
    this.tokens = new Tokens(request, transport)
    this.sessions = new Sessions(request)
    this.passkeys = new Passkeys(request)
  }

  /** Signs the browser in with an email and a password. Wrong credentials are an UnauthorizedError with `errors`. */
  async login(credentials: Credentials, options?: CallOptions): Promise<LoginResult> {
    if (this.#transport.isBearer) throw new TypeError('login() uses cookies. In bearer mode, call tokens.login().')
    const { two_factor, user } = await this.request('POST', '/login', { body: credentials, ...options })
    return user && !two_factor ? { two_factor, user } : { two_factor: true }
  }

  /** Returns the authenticated user. Throws an UnauthorizedError without one. */
  user(options?: CallOptions): Promise<User> {
    // Sound: only tokens of third-party OAuth clients get fewer fields.
    return this.request('GET', '/api/user', options) as Promise<User>
  }

  /** Returns the authenticated user, or null. */
  async userOrNull(options?: CallOptions): Promise<User | null> {
    try {
      return await this.user(options)
    } catch (error) {
      if (error instanceof UnauthorizedError) return null
      throw error
    }
  }

  /** Ends the session. In bearer mode, revokes the token and forgets it. */
  async logout(options?: CallOptions): Promise<void> {
    await this.request('POST', '/logout', options)
    this.#transport.remember(null)
  }

  /** Creates an account and signs the browser in. svc mails a verification link. */
  async register(registration: Registration, options?: CallOptions): Promise<void> {
    await this.request('POST', '/register', { body: repeated(registration), ...options })
  }

  /** Changes the name and the email address. A new address waits for its verification as `pending_email`. */
  async updateProfile(profile: ProfileChange, options?: CallOptions): Promise<void> {
    await this.request('PUT', '/user/profile-information', { body: profile, ...options })
  }

  /** Deletes the account and all its data. Requires a recent confirmation of the password. */
  async deleteAccount(options?: CallOptions): Promise<void> {
    await this.request('DELETE', '/user', options)
  }

  /** Replaces the token of bearer mode, or forgets it with null. */
  setToken(token: string | null): void {
    this.#transport.remember(token)
  }
}

/** Creates a client: with cookies for a page, or with a token for an app. */
export const createClient = (options: ClientOptions = {}): SvcClient => new SvcClient(options)
