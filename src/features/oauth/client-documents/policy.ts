import { isListed } from '../../../auth/access/stateful.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { DocumentRefused } from './document-refused.ts'

/** Maximum length of a client_id, in characters. */
const maxLength = 255

const section = 'oauth.client_id_metadata'

/** What the configuration says about clients whose client_id is the URL of a metadata document. */
export class DocumentPolicy {
  /** All scopes that these clients can get. */
  readonly scopes: readonly string[]
  readonly redirectHosts: readonly string[]
  readonly maxSize: number
  /** How long svc uses a document before it fetches it again, in milliseconds. */
  readonly cache: number
  readonly #settings: Config['oauth']['client_id_metadata']

  constructor({ oauth }: Config) {
    const settings = oauth.client_id_metadata
    this.#settings = settings
    this.scopes = settings.scopes
    this.redirectHosts = settings.redirect_hosts
    this.maxSize = settings.max_size
    this.cache = settings.cache
  }

  /** Tests for the URL of a document that the configuration accepts. */
  accepts(id: string): boolean {
    return isDocumentUrl(id) && this.refusal(id) === null
  }

  /** Returns why svc refuses a client_id that looks like the URL of a document; null if it does not. */
  refusal(id: string): DocumentRefused | null {
    const { enabled, allowed_hosts, blocked_hosts } = this.#settings
    if (!enabled)
      return new DocumentRefused('no client with this client_id is registered', { key: `${section}.enabled` })
    const problem = urlProblem(id)
    if (problem !== null) return new DocumentRefused(`client_id ${problem}`)
    if (allowed_hosts !== null && !isHostListed(id, allowed_hosts)) {
      return new DocumentRefused(`clients of ${hostOf(id)} are not allowed`, { key: `${section}.allowed_hosts` })
    }
    if (!isHostListed(id, blocked_hosts)) return null
    return new DocumentRefused(`clients of ${hostOf(id)} are blocked`, { key: `${section}.blocked_hosts` })
  }
}

/** Tests whether a client_id has the form of a document's URL. Other clients are in the configuration. */
export const isDocumentUrl = (id: string): boolean => /^https:\/\//i.test(id)

/** Tests whether the host of a URL matches an entry. An entry without a port matches every port. */
export function isHostListed(url: string, entries: readonly string[]): boolean {
  const { origin = '', hostname = '' } = URL.parse(url) ?? {}
  return isListed(origin, entries) || isListed(`https://${hostname}`, withoutPorts(entries))
}

const namesOf = new WeakMap<readonly string[], readonly string[]>()

/** Entries that have no port, cached as `isListed` caches lists. */
function withoutPorts(entries: readonly string[]): readonly string[] {
  const names = namesOf.get(entries) ?? entries.filter((entry) => !/^[^:]+:\d+$|\]:\d+$/.test(entry.trim()))
  namesOf.set(entries, names)
  return names
}

/** Host of a document, with its port unless it is 443. Names are in ASCII, so that one cannot look like another. */
export const hostOf = (id: string): string => URL.parse(id)?.host ?? ''

/** What is wrong with the URL of a document (draft-ietf-oauth-client-id-metadata-document section 3); null for a valid one. */
function urlProblem(id: string): string | null {
  const url = URL.parse(id)
  if (id.length > maxLength) return `must have at most ${maxLength} characters`
  if (!url) return 'must be a URL'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  if (id.includes('#')) return 'must not have a fragment'
  if (url.hostname.endsWith('.')) return 'must not have a dot at the end of its host'
  if (url.pathname === '/') return 'must have a path, such as https://app.example.com/client.json'
  // One spelling for each client, without dot segments.
  return url.href === id
    ? null
    : 'must be the URL in its normalized form: no capital letters in the host, no port 443, no . or .. segments'
}
