import type { Socket } from 'node:net'

/** Answers what is no HTTP at all in the shape of every other error. */
export function refuseUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const body = '{"message":"The request cannot be read.","code":"malformed_body"}'
  if (socket.writable) {
    const head = `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`
    socket.write(head + body)
  }
  socket.destroy(error)
}
