import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { unavailable } from './errors.ts'
import type { Remote } from './options.ts'

/** Age in milliseconds at which a key set is fetched again, so that a removed key stops working. */
const maxAge = 10 * 60_000
/** Minimum interval between two requests. It limits what tokens with invented key ids can cause. */
const interval = 30_000
/** Minimum interval before the first key set. It is shorter, so that an API that starts before svc recovers quickly. */
const firstInterval = 1_000

/** The public keys of svc. They stay in use while svc is unavailable. */
export class RemoteKeySet {
  readonly #uri: string
  readonly #remote: Remote
  #keys: ReturnType<typeof createLocalJWKSet> | null = null
  #loadedAt = 0
  #triedAt = Number.NEGATIVE_INFINITY
  #failure: unknown = null
  #pending: Promise<void> | null = null

  constructor(uri: string, remote: Remote) {
    this.#uri = uri
    this.#remote = remote
  }

  /** Finds the key of a token. Throws a 503 if the key is unknown and svc does not return a key set. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.#current()
    try {
      return await keys(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      await this.#load()
      if (this.#keys !== null && this.#keys !== keys) return this.#keys(header, token)
      if (this.#failure !== null) throw unavailable(this.#failure)
      throw error
    }
  }

  async #current() {
    if (this.#keys === null) await this.#load()
    else if (this.#remote.elapsed() - this.#loadedAt > maxAge) {
      // Requests wait for the first attempt only, so that a hanging svc does not delay all of them.
      const loading = this.#load()
      if (this.#failure === null) await loading
    }
    if (this.#keys === null) throw unavailable(this.#failure)
    return this.#keys
  }

  /** Fetches the key set, unless a request is pending or was sent recently. Failures are recorded, not thrown. */
  #load(): Promise<void> {
    if (this.#pending !== null) return this.#pending
    const now = this.#remote.elapsed()
    if (now - this.#triedAt < (this.#keys === null ? firstInterval : interval)) return Promise.resolve()
    this.#triedAt = now
    this.#pending = this.#fetch()
      .then(
        (keys) => {
          this.#keys = keys
          this.#loadedAt = this.#remote.elapsed()
          this.#failure = null
        },
        (error) => {
          this.#failure = error
          this.#remote.onError(error)
        },
      )
      .finally(() => {
        this.#pending = null
      })
    return this.#pending
  }

  async #fetch() {
    const response = await this.#remote.fetch(this.#uri, {
      headers: { accept: 'application/json' },
      redirect: 'error',
      cache: 'no-store',
      signal: AbortSignal.timeout(this.#remote.timeout),
    })
    if (!response.ok) throw new Error(`${this.#uri} answered ${response.status}.`)
    // Throws if the response is not a key set.
    return createLocalJWKSet((await response.json()) as JSONWebKeySet)
  }
}
