import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/** What of a request its body stream answers, and not its head. */
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

/** The request with another body in place of the one that was read: form text, whatever it was. */
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

/** Tells the library where it is: from the configuration and svc's own verdict on the client's address, never from what was sent. */
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
