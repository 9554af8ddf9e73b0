import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Metrics } from './metrics.ts'

/** The metrics port is not available; the message says what to do. */
export class MetricsPortError extends Error {}

/** How long an open response may take on shutdown, in milliseconds. */
const closeTimeout = 1_000

/** Serves `GET /metrics` on a separate port while the app runs. */
export function serveMetrics(app: FastifyInstance, metrics: Metrics, where: { host: string; port: number }): void {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    answer(metrics, request, response).catch((error) => {
      app.log.error({ err: error }, 'collecting metrics failed')
      response.writeHead(500).end()
    })
  })
  app.addHook('onReady', async () => {
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(refused(error, where.port)))
      server.listen(where.port, where.host, resolve)
    })
    app.log.info(`metrics on port ${where.port}`)
  })
  app.addHook('onClose', async () => {
    if (!server.listening) return
    const end = setTimeout(() => server.closeAllConnections(), closeTimeout)
    await new Promise((resolve) => server.close(resolve))
    clearTimeout(end)
  })
}

async function answer(metrics: Metrics, { method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
  const isAsked = method === 'GET' && url?.split('?')[0] === '/metrics'
  if (!isAsked) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found.\n')
  const text = await metrics.text()
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' })
  response.end(text)
}

function refused(error: Error, port: number): Error {
  const reason = 'code' in error && error.code === 'EADDRINUSE' ? `port ${port} is in use` : error.message
  const text = `The metrics cannot be served: ${reason}. Set metrics.port to one that is free, or to null.`
  return new MetricsPortError(text, { cause: error })
}
