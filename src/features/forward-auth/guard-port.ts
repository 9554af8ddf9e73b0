import { createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { notFound } from '../../platform/errors.ts'
import { listenOn } from '../../platform/http/listen.ts'

const health = /^\/health\//

/**
 * Serves the guard and the health checks on `guard.port`, and answers 404 to the guard on `server.port`. It goes by the port
 * on which the connection arrived, because clients choose the Host header.
 */
export function addGuardPort(app: FastifyInstance): void {
  const { guard, server, compat } = app.config.current()
  const { port } = guard
  if (port === null) return
  const paths = new RegExp(`^/(${compat.prefixes.join('|')})/guard(/|$)`)
  app.addHook('onRequest', ({ socket, routeOptions, url }, _reply, done) => {
    // The method of a request without a route could get 405, which would show that the path exists.
    const path = routeOptions.url ?? decoded(url.split('?')[0] ?? '')
    const isServed = socket.localPort === port ? paths.test(path) || health.test(path) : !paths.test(path)
    done(isServed ? undefined : notFound())
  })

  // The HTTP server of svc takes over its connections, with its limits and timeouts.
  const options = { allowHalfOpen: true, noDelay: true }
  const listener = createServer(options, (socket) => void app.server.emit('connection', socket))
  app.stopping.listeners.add(listener)
  app.addHook('onReady', async () => {
    await listenOn(listener, { host: server.host, port, key: 'guard.port' })
    app.log.info(`guard on port ${port}`)
  })
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
