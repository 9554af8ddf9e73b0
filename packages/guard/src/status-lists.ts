import { type JWTVerifyGetKey, jwtVerify } from 'jose'
import { unavailable } from './errors.ts'
import type { Settings } from './options.ts'

/** Status 0 of the specification; all others are revoked or suspended. */
const valid = 0
/** Maximum size of a decompressed list in bytes: 32 million tokens. */
const maxSize = 4 * 1024 * 1024
/** Maximum number of lists. The oldest one is dropped. */
const maxLists = 1_000
/** Milliseconds between two attempts to fetch a list. */
const retryInterval = 1_000
/** Seconds for which a list without `ttl` is used. */
const defaultTtl = 60

interface List {
  bits: number
  bytes: Uint8Array
  /** When the guard fetches the list again (`freshUntil`) and stops using it (`validUntil`), in Unix milliseconds. */
  freshUntil: number
  validUntil: number
}

interface Entry {
  list: List | null
  failure: unknown
  triedAt: number
  pending: Promise<void> | null
}

/** Reads the status of access tokens in the lists of svc (draft-ietf-oauth-status-list). */
export class StatusLists {
  readonly #settings: Settings
  readonly #find: JWTVerifyGetKey
  readonly #entries = new Map<string, Entry>()

  constructor(settings: Settings, find: JWTVerifyGetKey) {
    this.#settings = settings
    this.#find = find
  }

  /** Whether a token with this `status` claim is valid. Throws a 503 if svc gives no list that is still valid. */
  async isValid(status: unknown): Promise<boolean> {
    if (status === undefined) return true
    const { idx, uri } = Object((status as { status_list?: unknown } | null)?.status_list)
    const isReference = Number.isSafeInteger(idx) && idx >= 0 && typeof uri === 'string'
    // Accepts only lists of svc, so that a token cannot make the guard send requests to other servers.
    if (!isReference || !uri.startsWith(`${this.#settings.issuer}/`)) return false
    const { bits, bytes } = await this.#current(uri)
    const byte = bytes[Math.floor((idx * bits) / 8)]
    return byte !== undefined && ((byte >> ((idx * bits) % 8)) & (2 ** bits - 1)) === valid
  }

  async #current(uri: string): Promise<List> {
    const entry = this.#entry(uri)
    const now = this.#settings.now()
    if (entry.list && now < entry.list.freshUntil) return entry.list
    const loading = this.#load(uri, entry)
    // Requests wait for the first attempt only, so that a hanging svc does not delay all of them.
    if (!entry.list || now >= entry.list.validUntil || entry.failure === null) await loading
    if (entry.list && now < entry.list.validUntil) return entry.list
    throw unavailable(entry.failure)
  }

  #entry(uri: string): Entry {
    const known = this.#entries.get(uri)
    if (known) return known
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined && this.#entries.size >= maxLists) this.#entries.delete(oldest)
    const entry = { list: null, failure: null, triedAt: Number.NEGATIVE_INFINITY, pending: null }
    this.#entries.set(uri, entry)
    return entry
  }

  /** Fetches a list, unless a request is pending or has just failed. Failures are recorded, not thrown. */
  #load(uri: string, entry: Entry): Promise<void> {
    if (entry.pending !== null) return entry.pending
    const { elapsed, onError } = this.#settings.remote
    const now = elapsed()
    if (entry.failure !== null && now - entry.triedAt < retryInterval) return Promise.resolve()
    entry.triedAt = now
    entry.pending = this.#fetch(uri)
      .then(
        (list) => {
          entry.list = list
          entry.failure = null
        },
        (error) => {
          entry.failure = error
          onError(error)
        },
      )
      .finally(() => {
        entry.pending = null
      })
    return entry.pending
  }

  async #fetch(uri: string): Promise<List> {
    const { issuer, algorithms, clockTolerance, now, remote } = this.#settings
    const response = await remote.fetch(uri, {
      headers: { accept: 'application/statuslist+jwt' },
      redirect: 'error',
      cache: 'no-store',
      signal: AbortSignal.timeout(remote.timeout),
    })
    if (!response.ok) throw new Error(`${uri} answered ${response.status}.`)
    const token = await response.text()
    const time = now()
    const options = { typ: 'statuslist+jwt', subject: uri, algorithms, clockTolerance, requiredClaims: ['iat'] }
    const { payload } = await jwtVerify(token, this.#find, { ...options, currentDate: new Date(time) })
    const { iss = issuer, ttl = defaultTtl, exp, status_list } = payload
    const { bits, lst } = Object(status_list)
    if (iss !== issuer || ![1, 2, 4, 8].includes(bits) || typeof lst !== 'string' || !(Number(ttl) > 0)) {
      throw new Error(`${uri} is not a status list of svc.`)
    }
    const freshUntil = time + Number(ttl) * 1000
    const validUntil = exp === undefined ? freshUntil : exp * 1000
    return { bits, bytes: await inflate(lst), freshUntil: Math.min(freshUntil, validUntil), validUntil }
  }
}

/** Decompresses a base64url text (zlib), up to the maximum size. */
async function inflate(text: string): Promise<Uint8Array> {
  const compressed = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream('deflate'))
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > maxSize) throw new Error('The status list is too long.')
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}
