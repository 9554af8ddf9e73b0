import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    /** What a balancer that asks for readiness is told about the end of this process. */
    stopping: Stopping
  }
}

interface Stopping {
  /** Whether the process is stopping: no new requests should be sent to it. */
  hasBegun: boolean
  /** When it was last asked whether the process is ready, by `performance.now()`. */
  askedAt: number
}

/** Who asked for readiness within so many milliseconds is taken to go by it. */
const watched = 60_000

/** The quiet, in milliseconds, after which nobody is taken to wait at the door; and the longest wait for it. */
const quiet = 50
const maxWait = 3_000

/**
 * Lets a stopping server end as soon as its last answer is sent. Where a balancer goes by readiness, it is given
 * `server.drain` to learn that the answer is no now, and all is served meanwhile. What the system accepted before is taken in, because
 * Node takes in one connection a turn and closing would reset the rest. Then connections without a request are closed
 * (Node keeps those that never sent one, as browsers open them in advance), the others with the answer under way.
 */
export function addGracefulStop(app: FastifyInstance): void {
  const connections = new Map<Socket, ServerResponse | null>()
  const stopping: Stopping = { hasBegun: false, askedAt: Number.NEGATIVE_INFINITY }
  let taken = 0
  app.decorate('stopping', stopping)

  app.server.on('connection', (socket: Socket) => {
    taken++
    connections.set(socket, null)
    socket.once('close', () => connections.delete(socket))
  })
  app.server.prependListener('request', (request, response) => {
    connections.set(request.socket, response)
    if (stopping.hasBegun) response.setHeader('connection', 'close')
  })
  app.addHook('preClose', async () => {
    stopping.hasBegun = true
    if (!app.server.listening) return
    if (performance.now() - stopping.askedAt < watched) await sleep(app.config.current().server.drain)
    const end = performance.now() + maxWait
    for (let before = -1; taken !== before && performance.now() < end; ) {
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
