import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/** Properties of a request that come from its body stream instead of its head. */
const ofBody = new Set<PropertyKey>([
  'readable',
  'readableEncoding',
  'readableEnded',
  'iterator',
  Symbol.asyncIterator,
  'on',
  'once',
  'pipe',
  'read',
  'resume',
])

/** The request with a form as its body, in place of the body that was read. */
export function withBody(raw: IncomingMessage, body: string): IncomingMessage {
  const bytes = Buffer.from(body)
  const stream = Readable.from([bytes], { objectMode: false })
  raw.headers['content-type'] = 'application/x-www-form-urlencoded'
  raw.headers['content-length'] = String(bytes.length)
  delete raw.headers['transfer-encoding']
  return new Proxy(raw, {
    get(target, key) {
      const source = ofBody.has(key) ? stream : target
      const value: unknown = Reflect.get(source, key, source)
      return typeof value === 'function' ? value.bind(source) : value
    },
  })
}

/** Gives the library the host and the client's address as svc determined them. Headers of the request do not count. */
export function settleOrigin(raw: IncomingMessage, url: string, address: string): void {
  const { protocol, host } = new URL(url)
  // A target may name a host as well (RFC 9112 section 3.2.2).
  if (raw.url && !raw.url.startsWith('/')) raw.url = raw.url.replace(/^[^/]*\/\/[^/?#]*/, '')
  Object.assign(raw, { originalUrl: raw.url })
  raw.headers.host = host
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1)
  raw.headers['x-forwarded-host'] = host
  raw.headers['x-forwarded-for'] = address
}
