import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { listenOn } from '../../http/listen.ts'
import type { Metrics } from './metrics.ts'

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

  /** Throws a PortError if the port is not available. */
  async open({ host, port }: { host: string; port: number }): Promise<void> {
    // On first use, because an import of `node:http` also loads the implementation of fetch.
    const { createServer } = await import('node:http')
    const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
      answer(this.#text, request, response).catch((error) => {
        this.#log.error({ err: error }, 'collecting metrics failed')
        response.writeHead(500).end()
      })
    })
    await listenOn(server, { host, port, key: 'metrics.port' })
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
