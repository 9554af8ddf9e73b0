import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { performServerHandshake } from 'node:http2'
import type { Test } from 'tap'
import { freePort } from '../support/port.ts'

/** What a service received. */
export interface Received {
  method: string
  url: string
  /** Names and values in turn. */
  raw: string[]
  headers: IncomingMessage['headers']
  bytes: number
}

/** Values of all headers whose name a server may read as this one. */
export const valuesOf = ({ raw }: Received, name: string): string[] =>
  raw.filter((_, index) => index % 2 === 1 && sameName(raw[index - 1] ?? '', name))

const sameName = (one: string, two: string): boolean => folded(one) === folded(two)

const folded = (name: string): string => name.toLowerCase().replaceAll(/[^a-z\d]/g, '-')

/**
 * A service that answers every request with 200 and notes it under its `X-Request-Number`. It accepts WebSockets, and
 * HTTP/2 by an upgrade from HTTP/1.1 (RFC 7540 section 3.2).
 */
export async function startUpstream(t: Test) {
  const requests = new Map<string, Received>()
  const smuggled: string[] = []
  const note = (request: IncomingMessage, bytes: number) => {
    const { method = '', url = '', rawHeaders: raw, headers } = request
    requests.set(String(headers['x-request-number']), { method, url, raw, headers, bytes })
  }
  const server = createServer((request, response) => {
    let bytes = 0
    request.on('data', (part: Buffer) => {
      bytes += part.length
    })
    request.once('end', () => {
      note(request, bytes)
      response.writeHead(200, { 'x-upstream': 'yes' }).end('from the service')
    })
  })
  server.on('upgrade', (request, socket) => {
    note(request, 0)
    if (request.headers.upgrade !== 'websocket') {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
      )
      const session = performServerHandshake(socket)
      session.on('error', () => socket.destroy())
      session.on('stream', (stream, headers) => {
        smuggled.push(String(headers[':path']))
        stream.respond({ ':status': 200 })
        stream.end()
      })
      return
    }
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
    socket.on('error', () => socket.destroy())
    socket.end(`${[...lines, `Sec-WebSocket-Accept: ${accept}`].join('\r\n')}\r\n\r\n`)
  })
  const port = await freePort()
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port, requests, smuggled }
}
