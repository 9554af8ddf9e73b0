import type { Remember } from './account.ts'
import { type CallOptions, Calls, type Passkey } from './operations.ts'
import { createPasskey, isSupported, supportsAutofill, usePasskey } from './webauthn.ts'

/** How a passkey signs in. */
export interface PasskeyLogin extends Remember, CallOptions {
  /** Waits until the user picks a passkey in a field with `autocomplete="username webauthn"`. Pass a `signal` too. */
  autofill?: boolean
}

/** Passkeys (WebAuthn). They work in browsers only, and throw a PasskeyError if the browser fails. */
export class Passkeys extends Calls {
  /** Whether the browser can use passkeys. */
  isSupported(): boolean {
    return isSupported()
  }

  /** Whether the browser suggests passkeys in a form field, for `login({ autofill: true })`. */
  supportsAutofill(): Promise<boolean> {
    return supportsAutofill()
  }

  /** Creates a passkey on this device and registers it. Requires a recent confirmation of the password. */
  async register(name: string, options: CallOptions = {}): Promise<{ id: string; name: string }> {
    const { options: creation } = await this.request('GET', '/user/passkeys/options', options)
    const credential = await createPasskey(creation, options.signal)
    const { id } = await this.request('POST', '/user/passkeys', { body: { name, credential }, ...options })
    return { id, name }
  }

  /** Signs the browser in with a passkey. `two_factor: true` asks for `twoFactor.challenge()`. */
  async login({ remember, autofill, ...options }: PasskeyLogin = {}): Promise<{ two_factor: boolean }> {
    const { options: challenge } = await this.request('GET', '/passkeys/login/options', options)
    const credential = await usePasskey(challenge, { signal: options.signal, autofill })
    const body = { credential, ...(remember === undefined ? {} : { remember }) }
    const { two_factor = false } = await this.request('POST', '/passkeys/login', { body, ...options })
    return { two_factor }
  }

  /** Confirms with a passkey, instead of the password. */
  async confirm(options: CallOptions = {}): Promise<void> {
    const { options: challenge } = await this.request('GET', '/passkeys/confirm/options', options)
    const credential = await usePasskey(challenge, { signal: options.signal })
    await this.request('POST', '/passkeys/confirm', { body: { credential }, ...options })
  }

  /** Completes a sign-in with a passkey, after `login()` answered `two_factor: true`. */
  async challenge(options: CallOptions = {}): Promise<void> {
    const { options: challenge } = await this.request('GET', '/passkeys/challenge/options', options)
    const credential = await usePasskey(challenge, { signal: options.signal })
    await this.request('POST', '/passkeys/challenge', { body: { credential }, ...options })
  }

  list(options?: CallOptions): Promise<Passkey[]> {
    return this.request('GET', '/user/passkeys', options)
  }

  async rename(id: Passkey['id'], name: string, options?: CallOptions): Promise<void> {
    await this.request('PUT', '/user/passkeys/{id}', { path: { id }, body: { name }, ...options })
  }

  async delete(id: Passkey['id'], options?: CallOptions): Promise<void> {
    await this.request('DELETE', '/user/passkeys/{id}', { path: { id }, ...options })
  }
}
