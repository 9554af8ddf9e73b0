import type { FastifyInstance } from 'fastify'
import { getDomain } from 'tldts'
import type { Config } from '../../platform/config/schema.ts'
import { type OutboundFetch, outboundFetch } from '../../platform/http/outbound.ts'

export const permissionPath = '/.well-known/device-bound-sessions'

/** Milliseconds until svc looks again. */
const interval = 600_000

/** Returns the host of the site that `session.domain` belongs to. Null without a domain: svc then binds only sessions of its own host. */
export function boundSite({ app, session }: Pick<Config, 'app' | 'session'>): string | null {
  return session.domain === null ? null : getDomain(new URL(app.url).hostname, { allowPrivateDomains: true })
}

/** Returns where browsers ask whether svc may bind the sessions of a whole site; null if they do not ask. */
function permissionUrl(config: Pick<Config, 'app' | 'session'>): string | null {
  const { hostname, protocol } = new URL(config.app.url)
  const site = boundSite(config)
  return site === null || site === hostname ? null : `${protocol}//${site}${permissionPath}`
}

/**
 * Knows whether the site permits svc to bind sessions for all of its hosts. Without the permission, browsers drop the
 * binding after its registration, and svc would sign the user out when the cookie expires.
 */
export class SitePermission {
  readonly #app: FastifyInstance
  readonly #fetch: OutboundFetch
  #checkedAt = Number.NEGATIVE_INFINITY
  #isGiven = false

  // The operator chose the address, so it may be a private one.
  constructor(
    app: FastifyInstance,
    fetch = outboundFetch(
      () => app.config.current().outbound,
      () => true,
    ),
  ) {
    this.#app = app
    this.#fetch = fetch
  }

  /** Returns the answer of the last ten minutes, and asks in the background for the next one. */
  isGiven = (): boolean => {
    const config = this.#app.config.current()
    const url = permissionUrl(config)
    if (url === null) return true
    const now = this.#app.clock.now()
    if (now - this.#checkedAt >= interval) {
      this.#checkedAt = now
      this.#app.background(() => this.#ask(url, config.app.url))
    }
    return this.#isGiven
  }

  async #ask(url: string, origin: string): Promise<void> {
    const problem = await this.#problemOf(url, origin).catch((error: Error) => error.message)
    this.#isGiven = problem === null
    if (problem !== null)
      this.#app.log.warn(
        `Browsers do not bind sessions: ${url} must answer with the origin of svc, ${origin} (${problem}). Route this path to svc.`,
      )
  }

  async #problemOf(url: string, origin: string): Promise<string | null> {
    const answer = await this.#fetch(url)
    if (answer.status !== 200) return `it answers ${answer.status}`
    const { registering_origins: origins } = Object(await answer.json())
    return Array.isArray(origins) && origins.includes(origin) ? null : 'it does not list this origin'
  }
}
