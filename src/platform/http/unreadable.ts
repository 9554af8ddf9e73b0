import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { HttpError } from '../errors.ts'

/** Responses for parser errors; all others get 400. */
const refusals: Readonly<Record<string, readonly [status: string, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The request headers are too large.'],
}

/** Responds to a request that could not be parsed, in the usual error format, and closes the connection. */
export function refuseUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const [status, message] = refusals[error.code ?? ''] ?? ['400 Bad Request', 'The request is malformed.']
  const body = JSON.stringify({ message, code: 'malformed_body' })
  if (socket.writable) {
    const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`
    socket.write(head + body)
  }
  socket.destroy(error)
}

/** Rejects requests with several `Host` headers (RFC 9112 section 3.2), because a proxy may have used another one. */
export function addHostRule(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw: { rawHeaders } }, _reply, done) => {
    let hosts = 0
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i] ?? ''
      if (name.length === 4 && name.toLowerCase() === 'host') hosts++
    }
    if (hosts > 1) done(new HttpError(400, 'malformed_body', 'The request must have exactly one Host header.'))
    else done()
  })
}
