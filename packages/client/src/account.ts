import { type BodyOf, type CallOptions, Calls, type User } from './operations.ts'

/** Whether a sign-in is complete, or waits for `twoFactor.challenge()`. */
export type LoginResult = { two_factor: false; user: User } | { two_factor: true; user?: undefined }

/** Keeps the browser signed in after it closes. */
export interface Remember {
  remember?: boolean
}

export type Credentials = Omit<BodyOf<'POST', '/login'>, 'remember'> & Remember
type Repeated = 'password_confirmation'

/** If `password_confirmation` is missing, the client sends the password in both fields. */
export type Registration = Omit<BodyOf<'POST', '/register'>, 'remember' | Repeated> &
  Partial<Record<Repeated, string>> &
  Remember
export type ProfileChange = BodyOf<'PUT', '/user/profile-information'>
export type PasswordChange = Omit<BodyOf<'PUT', '/user/password'>, Repeated> & Partial<Record<Repeated, string>>
export type PasswordReset = Omit<BodyOf<'POST', '/reset-password'>, Repeated> & Partial<Record<Repeated, string>>

/** svc compares both fields. Forms that have only one send it twice. */
export const repeated = <Body extends { password: string }>(body: Body) => ({
  password_confirmation: body.password,
  ...body,
})

/** Passwords: reset, change and confirmation. */
export class Passwords extends Calls {
  /** Mails a reset link. Succeeds for unknown addresses too. */
  async forgot(email: string, options?: CallOptions): Promise<void> {
    await this.request('POST', '/forgot-password', { body: { email }, ...options })
  }

  /** Sets a new password with the token of the link. Does not sign the user in. */
  async reset(reset: PasswordReset, options?: CallOptions): Promise<void> {
    await this.request('POST', '/reset-password', { body: repeated(reset), ...options })
  }

  /** Changes the password and ends the user's other sessions. */
  async update(change: PasswordChange, options?: CallOptions): Promise<void> {
    await this.request('PUT', '/user/password', { body: repeated(change), ...options })
  }

  /** Confirms the password. Repeat the call that threw a PasswordConfirmationRequiredError afterwards. */
  async confirm(password: string, options?: CallOptions): Promise<void> {
    await this.request('POST', '/user/confirm-password', { body: { password }, ...options })
  }

  /** Whether the password was confirmed recently. */
  async isConfirmed(options?: CallOptions): Promise<boolean> {
    return (await this.request('GET', '/user/confirmed-password-status', options)).confirmed
  }

  /** Mails a confirmation code to a user without a password. */
  async sendCode(options?: CallOptions): Promise<void> {
    await this.request('POST', '/user/confirmation-code', options)
  }

  /** Confirms with the mailed code. */
  async confirmWithCode(code: string, options?: CallOptions): Promise<void> {
    await this.request('POST', '/user/confirm-password', { body: { code }, ...options })
  }
}

/** The parts of a verification link, if it leads to a page of the front end. */
export interface VerificationLink {
  id: string | number
  hash: string
  expires: string | number
  signature: string
}

/** Verification of the email address. */
export class Emails extends Calls {
  /** Sends the verification mail again. */
  async resend(options?: CallOptions): Promise<void> {
    await this.request('POST', '/email/verification-notification', options)
  }

  /** Verifies the address with a link that led to the front end. Requires the session of that user. */
  async verify({ id, hash, expires, signature }: VerificationLink, options?: CallOptions): Promise<void> {
    const query = { expires: String(expires), signature }
    await this.request('GET', '/email/verify/{id}/{hash}', { path: { id, hash }, query, ...options })
  }
}
