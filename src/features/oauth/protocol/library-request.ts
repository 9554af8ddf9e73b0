import type { IncomingMessage } from 'node:http'

/** Replaces the body, which Fastify has already read, by a form that the library can read. */
export function replaceBody(raw: IncomingMessage, form: string): void {
  const bytes = Buffer.from(form)
  raw.headers['content-type'] = 'application/x-www-form-urlencoded'
  raw.headers['content-length'] = String(bytes.length)
  delete raw.headers['transfer-encoding']
  // The library reads a body only if the request is still readable, and does so with its iterator.
  Object.defineProperties(raw, { readable: { value: true }, iterator: { value: () => [bytes] } })
}

let parsed = new URL('http://localhost')
let parsedFrom = ''

/** Parses a URL. Caches the last one, which is the same for all requests of a configuration. */
function originOf(url: string): URL {
  if (url !== parsedFrom) [parsed, parsedFrom] = [new URL(url), url]
  return parsed
}

/** Overwrites the headers of scheme, host and client address, so that the library uses the values that svc determined. */
export function setOrigin(raw: IncomingMessage, url: string, address: string): void {
  const { protocol, host } = originOf(url)
  // The request target can be an absolute URL (RFC 9112 section 3.2.2). The library expects a path.
  if (raw.url && !raw.url.startsWith('/')) raw.url = raw.url.replace(/^[^/]*\/\/[^/?#]*/, '')
  Object.assign(raw, { originalUrl: raw.url })
  raw.headers.host = host
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1)
  raw.headers['x-forwarded-host'] = host
  raw.headers['x-forwarded-for'] = address
}
