import type { Remember } from './account.ts'
import { SvcError } from './errors.ts'
import { type CallOptions, Calls, type Passkey } from './operations.ts'
import { createPasskey, isSupported, sendSignal, supportsAutofill, usePasskey } from './webauthn.ts'

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
    const { rpId, credential } = await this.#loginCredential(options, autofill)
    const body = { credential, ...(remember === undefined ? {} : { remember }) }
    try {
      const { two_factor = false } = await this.request('POST', '/passkeys/login', { body, ...options })
      return { two_factor }
    } catch (error) {
      if (error instanceof SvcError && error.code === 'unknown_passkey')
        await sendSignal('signalUnknownCredential', { rpId, credentialId: credential.id })
      throw error
    }
  }

  /** Waits for the user. A suggestion may wait for hours, so it gets a new challenge before the current one expires. */
  async #loginCredential(options: CallOptions, autofill = false) {
    for (;;) {
      const { options: challenge } = await this.request('GET', '/passkeys/login/options', options)
      const { rpId, timeout } = challenge
      if (!autofill) return { rpId, credential: await usePasskey(challenge, { signal: options.signal }) }
      const renewal = new AbortController()
      const stop = () => renewal.abort(options.signal?.reason)
      options.signal?.addEventListener('abort', stop)
      const timer = setTimeout(stop, timeout * 0.8)
      try {
        return { rpId, credential: await usePasskey(challenge, { signal: renewal.signal, autofill }) }
      } catch (error) {
        if (!renewal.signal.aborted || options.signal?.aborted) throw error
      } finally {
        clearTimeout(timer)
        options.signal?.removeEventListener('abort', stop)
      }
    }
  }

  /**
   * Tells the browser which passkeys the user has, and the user's name and address, so that password managers hide
   * removed passkeys and show the current name. Call it after a change of the profile; `delete()` calls it too.
   */
  async signal(options?: CallOptions): Promise<void> {
    const facts = await this.request('GET', '/user/passkeys/signals', options)
    await sendSignal('signalAllAcceptedCredentials', facts.all_accepted_credentials)
    await sendSignal('signalCurrentUserDetails', facts.current_user_details)
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
    // The passkey is deleted, whatever happens to the signal.
    if (isSupported()) await this.signal(options).catch(() => undefined)
  }
}
