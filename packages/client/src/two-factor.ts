import { type BodyOf, type CallOptions, Calls } from './operations.ts'

/** A code of the authenticator app, or one of the recovery codes. */
export type SecondFactor = BodyOf<'POST', '/two-factor-challenge'>

/** The QR code and the text of the set-up. */
export interface QrCode {
  /** An `<svg>` element. */
  svg: string
  /** `otpauth://…` */
  url: string
}

/** Authenticator apps. Changes require a recent confirmation of the password. */
export class TwoFactor extends Calls {
  /** Completes a sign-in that answered `two_factor: true`. */
  async challenge(proof: SecondFactor, options?: CallOptions): Promise<void> {
    await this.request('POST', '/two-factor-challenge', { body: proof, ...options })
  }

  /** Starts the set-up. svc requires the second factor after `confirm()`. `force` replaces an existing second factor. */
  async enable({ force = false, ...options }: { force?: boolean } & CallOptions = {}): Promise<void> {
    await this.request('POST', '/user/two-factor-authentication', { body: { force }, ...options })
  }

  /** Completes the set-up with a code of the authenticator app. */
  async confirm(code: string, options?: CallOptions): Promise<void> {
    await this.request('POST', '/user/confirmed-two-factor-authentication', { body: { code }, ...options })
  }

  async disable(options?: CallOptions): Promise<void> {
    await this.request('DELETE', '/user/two-factor-authentication', options)
  }

  /** The QR code to scan, or null before `enable()`. */
  async qrCode(options?: CallOptions): Promise<QrCode | null> {
    const code = await this.request('GET', '/user/two-factor-qr-code', options)
    // Before `enable()` it is an empty list.
    return code.svg !== undefined && code.url !== undefined ? { svg: code.svg, url: code.url } : null
  }

  /** The secret to type into the app. */
  async secretKey(options?: CallOptions): Promise<string> {
    return (await this.request('GET', '/user/two-factor-secret-key', options)).secretKey
  }

  recoveryCodes(options?: CallOptions): Promise<string[]> {
    return this.request('GET', '/user/two-factor-recovery-codes', options)
  }

  /** Replaces the recovery codes and returns the new ones. */
  async regenerateRecoveryCodes(options?: CallOptions): Promise<string[]> {
    await this.request('POST', '/user/two-factor-recovery-codes', options)
    return this.request('GET', '/user/two-factor-recovery-codes', options)
  }
}
