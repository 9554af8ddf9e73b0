import { TwoFactorRequiredError, ValidationError } from './errors.ts'
import {
  type BodyOf,
  type CallOptions,
  Calls,
  type Request,
  type Session,
  type Token,
  type User,
} from './operations.ts'
import type { Transport } from './transport.ts'

export type DeviceCredentials = BodyOf<'POST', '/svc/token'>
export type NewToken = BodyOf<'POST', '/api/tokens/create'>

/** API tokens. */
export class Tokens extends Calls {
  readonly #transport: Transport

  constructor(request: Request, transport: Transport) {
    super(request)
    this.#transport = transport
  }

  /**
   * Signs a device in. Keep the token in the secure storage of the device. Later calls of a client in bearer mode use
   * it, unless its `token` is a function. Throws a TwoFactorRequiredError if the user has a second factor: repeat the call with `code` or `recovery_code`.
   */
  async login(credentials: DeviceCredentials, options?: CallOptions): Promise<{ token: string; user: User }> {
    const isProven = Boolean(credentials.code || credentials.recovery_code)
    const answer = await this.request('POST', '/svc/token', { body: credentials, ...options }).catch((error) => {
      throw !isProven && error instanceof ValidationError && error.first('code') !== undefined
        ? new TwoFactorRequiredError(error)
        : error
    })
    this.#transport.remember(answer.token)
    return answer
  }

  list(options?: CallOptions): Promise<Token[]> {
    return this.request('GET', '/api/tokens', options)
  }

  /** Creates a token and returns its plain text, which svc shows only once. */
  async create(token: NewToken, options?: CallOptions): Promise<string> {
    return (await this.request('POST', '/api/tokens/create', { body: token, ...options })).token
  }

  async revoke(id: Token['id'], options?: CallOptions): Promise<void> {
    await this.request('DELETE', '/api/tokens/{id}', { path: { id }, ...options })
  }

  /** Revokes all API tokens of the user. */
  async revokeAll(options?: CallOptions): Promise<void> {
    await this.request('DELETE', '/api/tokens', options)
  }
}

/** The browsers in which the user is signed in. */
export class Sessions extends Calls {
  list(options?: CallOptions): Promise<Session[]> {
    return this.request('GET', '/user/sessions', options)
  }

  async end(id: Session['id'], options?: CallOptions): Promise<void> {
    await this.request('DELETE', '/user/sessions/{id}', { path: { id }, ...options })
  }

  /** Ends all other sessions. A user without a password confirms in another way first. */
  async endOthers(password?: string, options?: CallOptions): Promise<void> {
    await this.request('DELETE', '/user/other-sessions', {
      body: password === undefined ? {} : { password },
      ...options,
    })
  }
}
