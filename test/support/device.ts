import type { LightMyRequestResponse } from 'fastify'
import type { TestApp } from './app.ts'
import type { Authenticator, CeremonyOptions, Forgery } from './authenticator.ts'

/** The start of a passkey sign-in in an app. */
export interface AppCeremony {
  options: CeremonyOptions
  challenge_token: string
}

/** A native app: it sends no cookies, no CSRF token and no origin. */
export class Device {
  readonly #svc: Pick<TestApp, 'app'>

  constructor(svc: Pick<TestApp, 'app'>) {
    this.#svc = svc
  }

  post(url: string, payload: object = {}, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    return this.#svc.app.inject({ method: 'POST', url, payload, headers: { accept: 'application/json', ...headers } })
  }

  /** Starts a passkey sign-in. */
  async begin(): Promise<AppCeremony> {
    const answer = await this.post('/svc/passkeys/options')
    if (answer.statusCode !== 200) throw new Error(answer.body)
    return answer.json()
  }

  /** Requests a token with the response of an authenticator, valid or not. */
  async passkey(authenticator: Authenticator, forgery: Forgery = {}, more: object = {}) {
    const { options, challenge_token } = await this.begin()
    const credential = authenticator.assert(options, forgery)
    return this.token({ credential, challenge_token, ...more })
  }

  token(body: object): Promise<LightMyRequestResponse> {
    return this.post('/svc/token', { device_name: 'Phone', ...body })
  }
}
