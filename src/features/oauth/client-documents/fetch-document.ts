import type { OutboundFetch } from '../../../platform/http/outbound.ts'
import { DocumentRefused, invalidDocument as refused } from './document-refused.ts'

/** A fetched document. */
export interface FetchedDocument {
  members: Readonly<Record<string, unknown>>
  /** `max-age` of its Cache-Control, in milliseconds; null without one. */
  maxAge: number | null
}

/** The host of a document did not answer, or answered that it cannot at the moment. An earlier copy can be used. */
export class HostIsDown extends DocumentRefused {
  constructor(detail: string) {
    super('the metadata document of the client could not be fetched', { detail })
  }
}

/** svc does not ask the host at the moment, because it asked too often. */
export class LimitReached extends HostIsDown {}

/** Timeout in milliseconds. A person waits for the page. */
const timeout = 5_000

/**
 * Fetches a metadata document (draft-ietf-oauth-client-id-metadata-document section 4) without cookies and redirects. Throws
 * `HostIsDown` if another attempt can succeed, and `DocumentRefused` for a response that is no document.
 */
export async function fetchDocument(fetch: OutboundFetch, id: string, maxSize: number): Promise<FetchedDocument> {
  const signal = AbortSignal.timeout(timeout)
  const headers = { accept: 'application/json', 'user-agent': 'svc' }
  const response = await fetch(id, { signal, headers }).catch((error) => {
    throw new HostIsDown(error instanceof Error ? error.message : String(error))
  })
  const { status } = response
  if (status >= 500 || status === 429 || status === 408) throw new HostIsDown(`status ${status}`)
  if (status !== 200) throw refused(`its URL answers with status ${status} instead of 200; svc follows no redirects`)
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  if (!/^application\/(?:[\w.-]+\+)?json$/i.test(type.trim())) {
    throw refused('its Content-Type must be application/json')
  }
  const body = Buffer.from(await response.arrayBuffer())
  if (body.length > maxSize) {
    throw refused(`it is larger than ${maxSize} bytes`, 'oauth.client_id_metadata.max_size')
  }
  return { members: membersOf(body.toString()), maxAge: maxAgeOf(response.headers.get('cache-control')) }
}

function membersOf(text: string): Record<string, unknown> {
  let members: unknown
  try {
    members = JSON.parse(text)
  } catch {
    throw refused('it is not JSON')
  }
  if (typeof members !== 'object' || members === null || Array.isArray(members))
    throw refused('it is not a JSON object')
  return { ...members }
}

/** Lifetime that a Cache-Control header allows, in milliseconds (RFC 9111 section 5.2.2). */
function maxAgeOf(header: string | null): number | null {
  const directives = (header ?? '').toLowerCase().split(',')
  const names = directives.map((directive) => directive.trim())
  if (names.includes('no-store') || names.includes('no-cache')) return 0
  const [, seconds] = names.map((name) => /^max-age="?(\d{1,9})"?$/.exec(name)).find((found) => found !== null) ?? []
  return seconds === undefined ? null : Number(seconds) * 1_000
}
