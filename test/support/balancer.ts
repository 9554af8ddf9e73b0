import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { freePort } from './process.ts'
import { sendRequest } from './remote.ts'
import { pass } from './until.ts'

/** A replica behind the balancer. */
interface Backend {
  port: number
  isReady: boolean
  agent: Agent
}

/** How often the balancer checks the readiness of each replica, in milliseconds. */
const probeEvery = 500

/** One address in front of several replicas: requests go to the ready replicas in turn, and are never repeated. */
export class Balancer {
  readonly port: number
  /** The number of requests by port. */
  readonly sent = new Map<number, number>()
  readonly #backends: Backend[] = []
  #turn = 0
  #isClosed = false

  private constructor(port: number) {
    this.port = port
  }

  /** Listens until the test ends. */
  static async start(t: Test): Promise<Balancer> {
    const balancer = new Balancer(await freePort())
    const server = createServer((asked, answer) => balancer.#relay(asked, answer))
    await new Promise<void>((done) => server.listen(balancer.port, done))
    t.teardown(() => {
      balancer.#isClosed = true
      for (const { agent } of balancer.#backends) agent.destroy()
      server.closeAllConnections()
      server.close()
    })
    return balancer
  }

  /** Adds a replica; resolves when it was first ready. */
  async add(port: number): Promise<void> {
    const backend = { port, isReady: false, agent: new Agent({ keepAlive: true }) }
    this.#backends.push(backend)
    const seen = Promise.withResolvers<void>()
    void this.#watch(backend, seen.resolve)
    await seen.promise
  }

  async #watch(backend: Backend, seen: () => void): Promise<void> {
    while (!this.#isClosed) {
      const answer = await sendRequest(`http://127.0.0.1:${backend.port}`, { url: '/health/ready' }).catch(() => null)
      backend.isReady = answer?.statusCode === 200
      if (backend.isReady) seen()
      await pass(probeEvery)
    }
  }

  #relay(asked: IncomingMessage, answer: ServerResponse): void {
    const ready = this.#backends.filter(({ isReady }) => isReady)
    const backend = ready[this.#turn++ % ready.length]
    if (!backend) {
      answer.writeHead(502).end('no replica is ready')
      return
    }
    const { port, agent } = backend
    this.sent.set(port, (this.sent.get(port) ?? 0) + 1)
    const { method, url, headers } = asked
    const onward = request({ host: '127.0.0.1', port, method, path: url, headers, agent })
    onward.once('error', (error) => {
      if (answer.headersSent) answer.destroy()
      else answer.writeHead(502).end(error.message)
    })
    onward.once('response', (answered) => {
      const { connection: _, ...kept } = answered.headers
      answer.writeHead(answered.statusCode ?? 502, kept)
      answered.pipe(answer)
    })
    asked.pipe(onward)
  }
}
