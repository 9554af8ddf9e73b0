import type { IncomingMessage } from 'node:http'

/** Gives the library this form as the body of the request, in place of the body that was read. */
export function giveBody(raw: IncomingMessage, form: string): void {
  const bytes = Buffer.from(form)
  raw.headers['content-type'] = 'application/x-www-form-urlencoded'
  raw.headers['content-length'] = String(bytes.length)
  delete raw.headers['transfer-encoding']
  // The library reads a body that is still readable, with the iterator.
  Object.defineProperties(raw, { readable: { value: true }, iterator: { value: () => [bytes] } })
}

let parsed = new URL('http://localhost')
let parsedFrom = ''

/** The same for all requests of a configuration. */
function originOf(url: string): URL {
  if (url !== parsedFrom) [parsed, parsedFrom] = [new URL(url), url]
  return parsed
}

/** Gives the library the host and the client's address as svc determined them. Headers of the request do not count. */
export function settleOrigin(raw: IncomingMessage, url: string, address: string): void {
  const { protocol, host } = originOf(url)
  // A target may name a host as well (RFC 9112 section 3.2.2).
  if (raw.url && !raw.url.startsWith('/')) raw.url = raw.url.replace(/^[^/]*\/\/[^/?#]*/, '')
  Object.assign(raw, { originalUrl: raw.url })
  raw.headers.host = host
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1)
  raw.headers['x-forwarded-host'] = host
  raw.headers['x-forwarded-for'] = address
}
