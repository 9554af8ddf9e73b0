import type { FastifyInstance } from 'fastify'
import type { Registry } from './clients.ts'
import { noteSecretUse } from './secret-store.ts'

/** A process writes the use of a secret at most this often, in milliseconds. */
const precision = 600_000

/**
 * Notes which secret a client uses while it has several, so that an operator knows when the old one can be removed. Clients
 * with one secret cost nothing.
 */
export class SecretUses {
  readonly #app: FastifyInstance
  /** Time of the last write by secret. Only secrets of the configuration are in it. */
  readonly #written = new Map<string, number>()

  constructor(app: FastifyInstance) {
    this.#app = app
  }

  /** Notes that a client authenticated with its secret at this place of the list. */
  note(registry: Registry, clientId: string, index: number): void {
    const hashes = registry.secretHashes(clientId)
    const hash = hashes[index]
    if (hashes.length < 2 || hash === undefined) return
    const app = this.#app
    app.metrics?.clientSecretUsed(clientId, index === 0 ? 'newest' : 'older')
    const now = app.clock.now()
    const key = `${clientId} ${hash}`
    if (now - (this.#written.get(key) ?? 0) < precision) return
    this.#written.set(key, now)
    app.background(() => noteSecretUse(app.database, clientId, hash, now))
  }
}
