import type { Settings } from './options.ts'

const wellKnown = '/.well-known/oauth-protected-resource'

/** Protected resource metadata (RFC 9728): tells clients which server issues tokens for this API. */
export class ResourceMetadata {
  /** Null if the audience is not an https URL, because it then cannot identify the API to clients. */
  readonly url: string | null
  /** The path of `url`. */
  readonly path: string | null
  /** The JSON document. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>> = {
    'access-control-allow-origin': '*',
    'cache-control': 'public, max-age=3600',
    'content-type': 'application/json',
  }

  constructor({ issuer, audience }: Settings, fields: Readonly<Record<string, unknown>> = {}) {
    const location = URL.canParse(audience) ? new URL(audience) : null
    const isResource = location !== null && /^https?:$/.test(location.protocol) && location.hash === ''
    // RFC 9728 section 3.1: between the host and the path.
    const end = isResource ? `${location.pathname === '/' ? '' : location.pathname}${location.search}` : ''
    this.path = isResource ? `${wellKnown}${end}` : null
    this.url = isResource ? `${location.origin}${this.path}` : null
    this.body = JSON.stringify({
      ...fields,
      resource: audience,
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
    })
  }

  /** Whether a request asks for the document. */
  isFor(method: string | undefined, target: string | undefined): boolean {
    return (method === 'GET' || method === 'HEAD') && this.path !== null && target === this.path
  }
}
