import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ClientMetadata } from 'oidc-provider'
import { RecentMap } from '../../../platform/cache.ts'
import { limitedAddress } from '../../../platform/http/client-address.ts'
import type { OutboundFetch } from '../../../platform/http/outbound.ts'
import { budgetOfPeer } from '../../../platform/http/peer-budget.ts'
import { tooManyRequests } from '../../../platform/limits/too-many-requests.ts'
import { type ClientDocument, clientMetadata, readDocument } from './document.ts'
import { DocumentRefused, invalidDocument } from './document-refused.ts'
import { fetchDocument, HostIsDown, LimitReached } from './fetch-document.ts'
import { type DocumentPolicy, hostOf } from './policy.ts'
import {
  countDocuments,
  deleteDocument,
  dropUnused,
  findDocument,
  isBlocked,
  noteUse,
  postpone,
  type StoredDocument,
  saveDocument,
} from './store.ts'

/** How a request may get a document: svc fetches it if necessary, fetches only one that it has again, or only reads it. */
export type Reach = 'fetch' | 'refresh' | 'read'

/** What a request needs to find a client. */
export interface DocumentSearch {
  id: string
  policy: DocumentPolicy
  fetch: OutboundFetch
  reach: Reach
  /** Request that pays for a fetch. */
  request: FastifyRequest | null
  /** Throws for metadata that the library does not accept. */
  validate(metadata: ClientMetadata): Promise<unknown>
}

/** Minimum time between two fetches of a document, in milliseconds. */
const minFresh = 60_000

/** How long svc uses a document while its host is down, in milliseconds after the last fetch. */
const maxStale = 86_400_000

/** Fetches of new documents by address, and of new and of known ones by host. */
const addressLimit = { max: 30, window: 600_000, block: 'window' } as const
const hostLimits = {
  new: { max: 60, window: 60_000, block: 'window' },
  known: { max: 600, window: 60_000, block: 'window' },
} as const

/** Maximum number of stored documents. A new one beyond it replaces the oldest ones that nobody used. */
const maxDocuments = 20_000

/** Number of documents that svc deletes at once when there are too many. */
const dropped = 100

/** A process writes the use of a client at most this often, in milliseconds. */
const usePrecision = 600_000

type Parts = Pick<FastifyInstance, 'database' | 'clock' | 'counters' | 'log'>

/**
 * Finds clients by their metadata documents. Replicas share what they fetched in the database. Uses the counters directly,
 * because only some requests of a route fetch a document.
 */
export class ClientDocuments {
  readonly #parts: Parts
  /** Fetches in progress, so that concurrent requests share one. */
  readonly #pending = new Map<string, Promise<ClientDocument>>()
  readonly #uses = new RecentMap<number>(1_000)

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Returns the metadata of a client. Throws `DocumentRefused` for a client that svc does not accept, and 429. */
  async find(search: DocumentSearch): Promise<ClientMetadata> {
    const { id, policy } = search
    const refusal = policy.refusal(id)
    if (refusal) throw refusal
    const { database } = this.#parts
    const [stored, blocked] = await Promise.all([findDocument(database, id), isBlocked(database, id)])
    if (blocked)
      throw new DocumentRefused(`clients of ${hostOf(id)} are blocked`, { detail: 'svc client:block blocked it' })
    return clientMetadata(await this.#current(search, stored), policy.redirectHosts)
  }

  /** Tests whether an administrator blocked the host of a client. */
  isBlocked(id: string): Promise<boolean> {
    return isBlocked(this.#parts.database, id)
  }

  /** Notes that a client got a token. */
  async noteUse(id: string, lifetime: number): Promise<void> {
    const now = this.#parts.clock.now()
    if (now - (this.#uses.get(id) ?? 0) < usePrecision) return
    this.#uses.add(id, now)
    await noteUse(this.#parts.database, id, now, lifetime)
  }

  async #current(search: DocumentSearch, stored: StoredDocument | null): Promise<ClientDocument> {
    const { id, reach } = search
    const now = this.#parts.clock.now()
    if (stored && (reach === 'read' || now < stored.freshUntil)) return stored.document
    if (!stored && reach !== 'fetch') {
      throw new DocumentRefused('no client with this client_id is registered', { detail: 'svc has no document of it' })
    }
    // Before it joins a fetch, so that the limit of one address does not refuse the others.
    if (!stored) await this.#admit(search.request)
    const pending = this.#pending.get(id) ?? this.#begin(search, stored)
    try {
      return await pending
    } catch (error) {
      const isRecent = stored && (now - stored.fetchedAt < maxStale || error instanceof LimitReached)
      const isUsable = isRecent && error instanceof HostIsDown
      if (!isUsable) throw error
      const facts = { client: id, reason: error.detail }
      this.#parts.log.warn(facts, `Metadata document of ${id} not renewed: ${error.detail}; svc uses its copy`)
      await postpone(this.#parts.database, id, now + minFresh)
      return stored.document
    }
  }

  #begin(search: DocumentSearch, stored: StoredDocument | null): Promise<ClientDocument> {
    const { id } = search
    const begun = this.#fetch(search, stored).finally(() => this.#pending.delete(id))
    this.#pending.set(id, begun)
    return begun
  }

  async #fetch(
    { id, policy, fetch, validate }: DocumentSearch,
    stored: StoredDocument | null,
  ): Promise<ClientDocument> {
    const { database, clock } = this.#parts
    const fetchedAt = clock.now()
    const kind = stored ? 'known' : 'new'
    const hit = await this.#parts.counters.hit(`client-document:${kind} ${hostOf(id)}`, hostLimits[kind], fetchedAt)
    if (!hit.allowed) throw new LimitReached('svc fetched too many documents of this host in the last minute')
    try {
      const { members, maxAge } = await fetchDocument(fetch, id, policy.maxSize)
      const document = readDocument(id, members)
      // Before it is stored, so that no later request meets a client that the library rejects.
      await validate(clientMetadata(document, policy.redirectHosts)).catch(refuseMetadata)
      const freshUntil = fetchedAt + Math.max(minFresh, Math.min(maxAge ?? policy.cache, policy.cache))
      await saveDocument(database, document, { fetchedAt, freshUntil })
      return document
    } catch (error) {
      // A client that withdrew its document must not come back when its host is down.
      if (stored && error instanceof DocumentRefused && !(error instanceof HostIsDown))
        await deleteDocument(database, id)
      throw error
    }
  }

  /** Throws unless an address may add a client. */
  async #admit(request: FastifyRequest | null): Promise<void> {
    const { counters, clock, database } = this.#parts
    const now = clock.now()
    if (request) {
      const rule = budgetOfPeer(request, addressLimit)
      const hit = await counters.hit(`client-document:${limitedAddress(request.ip)}`, rule, now)
      const message = () => 'Too many new clients. Please try again later.'
      if (!hit.allowed) throw tooManyRequests({ max: rule.max, until: hit.until, now }, { message })
    }
    if ((await countDocuments(database)) >= maxDocuments && (await dropUnused(database, dropped, now)) === 0) {
      throw new HostIsDown(`svc stores at most ${maxDocuments} documents`)
    }
  }
}

function refuseMetadata(error: unknown): never {
  const told = error instanceof Error && 'error_description' in error ? String(error.error_description) : String(error)
  throw invalidDocument(told)
}
