import type { ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    /** State of the shutdown, for readiness checks. */
    stopping: Stopping
  }
}

interface Stopping {
  /** Whether the shutdown has begun, so that load balancers must send no new requests. */
  hasBegun: boolean
  /** Time of the last readiness check, by `performance.now()`. */
  askedAt: number
  /** Whether other workers serve the same port and continue. */
  isReplaced: boolean
  /** Servers whose connections `app.server` serves too. */
  listeners: Set<NetServer>
  /** The number of requests without a complete response. */
  unanswered(): number
}

/** A load balancer is assumed if it checked readiness within this time, in milliseconds. */
const balancerWindow = 60_000

/** No connection is assumed to be pending if none arrived for this time, in milliseconds. */
const quietTime = 50

/** Maximum wait for that, in milliseconds. */
const maxWait = 3_000

/**
 * Stops the server as soon as it has sent its last response. If a balancer checks readiness, svc keeps serving for
 * `server.drain` while it reports not ready. Then it accepts the connections that the system already queued, because
 * Node accepts one per turn and closing would reset the others. Idle connections are closed (Node keeps those that
 * never sent a request), the others after their current response.
 */
export function addGracefulStop(app: FastifyInstance): void {
  const connections = new Map<Socket, ServerResponse | null>()
  const stopping: Stopping = {
    hasBegun: false,
    askedAt: Number.NEGATIVE_INFINITY,
    isReplaced: false,
    listeners: new Set(),
    unanswered: () => [...connections.values()].filter((response) => response && !response.writableFinished).length,
  }
  let accepted = 0
  app.decorate('stopping', stopping)

  app.server.on('connection', (socket: Socket) => {
    accepted++
    connections.set(socket, null)
    socket.once('close', () => connections.delete(socket))
  })
  app.server.prependListener('request', (request, response) => {
    connections.set(request.socket, response)
    if (stopping.hasBegun) response.setHeader('connection', 'close')
  })
  const closed: Promise<unknown>[] = []
  const closeAll = () => {
    for (const listener of stopping.listeners) {
      if (listener.listening) closed.push(new Promise((resolve) => listener.close(resolve)))
    }
  }
  app.addHook('preClose', async () => {
    stopping.hasBegun = true
    if (!app.server.listening) return closeAll()
    const { drain } = app.config.current().server
    if (stopping.isReplaced) await leave([app.server, ...stopping.listeners], connections, drain)
    else if (performance.now() - stopping.askedAt < balancerWindow) await sleep(drain)
    const end = performance.now() + maxWait
    for (let before = -1; accepted !== before && performance.now() < end; ) {
      before = accepted
      await sleep(quietTime)
      await turn()
    }
    closeAll()
    for (const [socket, response] of connections) {
      if (!response || response.writableFinished) socket.destroy()
      else if (response.headersSent) response.once('finish', () => socket.end())
      else response.setHeader('connection', 'close')
    }
  })
  // Until the last connection has ended, as for `app.server`.
  app.addHook('onClose', async () => void (await Promise.all(closed)))
}

/**
 * Leaves new connections to the other workers, and serves the open ones until their clients have seen `Connection: close`.
 * The close of the HTTP server would also close idle connections, on which a request may be on its way.
 */
async function leave(
  servers: readonly NetServer[],
  connections: ReadonlyMap<Socket, unknown>,
  drain: number,
): Promise<void> {
  for (const server of servers) NetServer.prototype.close.call(server)
  const end = performance.now() + drain
  while (connections.size > 0 && performance.now() < end) await sleep(quietTime)
}
