import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** The quiet, in milliseconds, after which nobody is taken to wait at the door; and the longest wait for it. */
const quiet = 50
const longest = 3_000

/**
 * Lets a stopping server end as soon as its last answer is sent. What the system accepted before is taken in, because
 * Node takes in one connection a turn and closing would reset the rest. Then connections without a request are closed
 * (Node keeps those that never sent one, as browsers open them in advance), the others with the answer under way.
 */
export function addGracefulStop(app: FastifyInstance): void {
  const connections = new Map<Socket, ServerResponse | null>()
  let taken = 0
  let isStopping = false

  app.server.on('connection', (socket: Socket) => {
    taken++
    connections.set(socket, null)
    socket.once('close', () => connections.delete(socket))
  })
  app.server.prependListener('request', (request, response) => {
    connections.set(request.socket, response)
    if (isStopping) response.setHeader('connection', 'close')
  })
  app.addHook('preClose', async () => {
    isStopping = true
    if (!app.server.listening) return
    const end = Date.now() + longest
    for (let before = -1; taken !== before && Date.now() < end; ) {
      before = taken
      await sleep(quiet)
      await turn()
    }
    for (const [socket, response] of connections) {
      if (!response || response.writableFinished) socket.destroy()
      else if (response.headersSent) response.once('finish', () => socket.end())
      else response.setHeader('connection', 'close')
    }
  })
}
