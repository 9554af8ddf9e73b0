import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { listenHost } from '../../http/listen-host.ts'
import type { Metrics } from './metrics.ts'

/** The metrics port is not available; the message says what to do. */
export class MetricsPortError extends Error {}

/** How long an open response may take on shutdown, in milliseconds. */
const closeTimeout = 1_000

/** Serves `GET /metrics` on a port of its own. */
export class MetricsListener {
  readonly #text: () => Promise<string>
  readonly #log: FastifyBaseLogger
  #server: Server | undefined

  constructor(text: () => Promise<string>, log: FastifyBaseLogger) {
    this.#text = text
    this.#log = log
  }

  /** Throws a MetricsPortError if the port is not available. */
  async open({ host, port }: { host: string; port: number }): Promise<void> {
    // On first use, because an import of `node:http` also loads the implementation of fetch.
    const { createServer } = await import('node:http')
    const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
      answer(this.#text, request, response).catch((error) => {
        this.#log.error({ err: error }, 'collecting metrics failed')
        response.writeHead(500).end()
      })
    })
    const address = await listenHost(host)
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(refused(error, port)))
      server.listen(port, address, resolve)
    })
    this.#server = server
    this.#log.info(`metrics on port ${port}`)
  }

  async close(): Promise<void> {
    const server = this.#server
    if (!server) return
    const end = setTimeout(() => server.closeAllConnections(), closeTimeout)
    await new Promise((resolve) => server.close(resolve))
    clearTimeout(end)
  }
}

/** Serves the metrics of this process while the app runs. */
export function serveMetrics(app: FastifyInstance, metrics: Metrics, where: { host: string; port: number }): void {
  const listener = new MetricsListener(() => metrics.text(), app.log)
  app.addHook('onReady', () => listener.open(where))
  app.addHook('onClose', () => listener.close())
}

async function answer(
  text: () => Promise<string>,
  { method, url }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const isAsked = method === 'GET' && url?.split('?')[0] === '/metrics'
  if (!isAsked) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found.\n')
  const metrics = await text()
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' })
  response.end(metrics)
}

function refused(error: Error, port: number): Error {
  const reason = 'code' in error && error.code === 'EADDRINUSE' ? `port ${port} is in use` : error.message
  const text = `The metrics cannot be served: ${reason}. Set metrics.port to one that is free, or to null.`
  return new MetricsPortError(text, { cause: error })
}
