import Provider, { type ClientMetadata, errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Config } from '../../../platform/config/schema.ts'
import type { OutboundFetch } from '../../../platform/http/outbound.ts'
import type { ClientDocuments, Reach } from '../client-documents/client-documents.ts'
import { DocumentRefused } from '../client-documents/document-refused.ts'
import { isDocumentUrl } from '../client-documents/policy.ts'
import type { Registry } from '../clients/clients.ts'
import { requestFactsOf } from './browser.ts'

export interface DocumentParts {
  registry: Registry
  documents: ClientDocuments
  fetch: OutboundFetch
  config: Config
}

/** svc does not accept a client by its metadata document. */
export class RefusedDocumentClient extends errors.InvalidClient {
  /** Configuration key that would change the decision. */
  readonly key: string | null

  constructor({ message, detail, key }: DocumentRefused, route: string) {
    super(message, detail)
    this.key = key
    // As for other unknown clients (RFC 6749 section 5.2). The first two answer people.
    if (route !== 'authorization' && route !== 'resume') this.status = this.statusCode = 401
  }
}

/**
 * Tests whether anyone could learn about the operator's network from the reasons: they can name hosts on private addresses, and
 * svc may connect to some of these.
 */
const hidesReasons = ({ app, outbound, oauth }: Config): boolean =>
  app.environment === 'production' &&
  outbound.allow_private.length > 0 &&
  oauth.client_id_metadata.allowed_hosts === null

const withoutReason = ({ key, detail }: DocumentRefused): DocumentRefused =>
  new DocumentRefused('the metadata document of the client is not available', { key, detail })

/**
 * Answers errors of authorization requests with a page instead of a redirect to a client that nobody registered, because
 * otherwise anyone could use svc to redirect to a host of theirs (RFC 9700 section 4.11.2). svc redirects only after the user
 * denied the request.
 */
export function keepErrorsFromDocumentClients(provider: Provider, registry: Registry): void {
  provider.on('authorization.error', ({ oidc }, error) => {
    const isDecision = oidc.route === 'resume' && error.error === 'access_denied'
    if (!isDecision && registry.isDocument(oidc.client?.clientId)) error.allow_redirect = false
  })
}

/** Requests that may fetch a document. Others only read the stored copy, and all but the first two need one. */
const reaches: Readonly<Record<string, Reach>> = {
  authorization: 'fetch',
  pushed_authorization_request: 'fetch',
  token: 'refresh',
}

/**
 * Returns a function that finds a client that nobody registered, by the URL of its metadata document. It returns undefined for
 * other clients, and throws `invalid_client` for a document that svc does not accept.
 */
export function findDocumentClient({ registry, documents, fetch, config }: DocumentParts) {
  // The library finds the client of a request several times, also after an error.
  const found = new WeakMap<object, { id: string; client: Promise<ClientMetadata | undefined> }>()

  return async (id: string) => {
    if (!isDocumentUrl(id)) return undefined
    const { ctx } = Provider
    const known = ctx && found.get(ctx)
    if (known?.id === id) return known.client
    const client = find(id, ctx)
    if (ctx) found.set(ctx, { id, client })
    return client
  }

  async function find(id: string, ctx: KoaContextWithOIDC | undefined): Promise<ClientMetadata | undefined> {
    const route = ctx?.oidc.route ?? ''
    const request = ctx ? requestFactsOf(ctx.req).request : null
    try {
      const validate = async (metadata: ClientMetadata) => ctx?.oidc.provider.Client.validate(metadata)
      const reach = reaches[route] ?? 'read'
      return await documents.find({ id, policy: registry.documents, fetch, reach, request, validate })
    } catch (error) {
      if (!(error instanceof DocumentRefused)) throw error
      // A sign-out ends the session of every client, also of one that was blocked.
      if (!ctx || route.startsWith('end_session')) return undefined
      throw new RefusedDocumentClient(hidesReasons(config) ? withoutReason(error) : error, route)
    }
  }
}
