import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

/** Creates the next request of a connection from its last response. The first request has none. */
export type NextRequest = (answer: Buffer | null) => Buffer

interface LoadOptions {
  port: number
  /** Complete HTTP requests to pick from at random, or a function that creates the next request from the last response. */
  requests: readonly Buffer[] | NextRequest
  connections: number
  /** Requests of one operation, 1 by default. All but the last one answer with a redirect. */
  steps?: number
  /** Milliseconds that each connection waits between a response and its next request: 0 by default. */
  pause?: number
}

/** The result of one measurement. Times are in milliseconds. */
export interface LoadFigures {
  /** Operations per second. */
  rate: number
  p50: number
  p99: number
  max: number
  /** The share of time in which the generator was busy. If it is near 1, the generator may be the bottleneck. */
  generator: number
}

/** The width of a latency class in milliseconds. There are `classes` of them. */
const classWidth = 0.05
const classes = 200_000

/** The digits of the status in "HTTP/1.1 200", compared as bytes. */
const isOk = (answer: Buffer): boolean => answer[9] === 50 && answer[10] === 48 && answer[11] === 48
const isRedirect = (answer: Buffer): boolean => answer[9] === 51

const headEnd = Buffer.from('\r\n\r\n')
/** The header in the spellings of Fastify and koa. */
const lengthFields = [Buffer.from('\r\ncontent-length: '), Buffer.from('\r\nContent-Length: ')] as const

/**
 * A load of HTTP requests on keep-alive connections, with one request in flight on each. It sends prepared bytes and
 * reads only the status and the length of a response, so that it does not become the bottleneck.
 */
export class Load {
  readonly #options: LoadOptions
  readonly #sockets: Socket[] = []
  #latencies = new Uint32Array(classes)
  #answers = 0
  #max = 0
  #isStopping = false
  #underWay = 0
  #failure: Error | null = null

  constructor(options: LoadOptions) {
    this.#options = options
  }

  /** Opens the connections and starts the load. */
  async start(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.connections }, () => this.#open()))
  }

  /** Measures the next seconds. Throws if a response is unexpected. */
  async measure(seconds: number): Promise<LoadFigures> {
    this.#latencies = new Uint32Array(classes)
    this.#answers = 0
    this.#max = 0
    const busy = performance.eventLoopUtilization()
    const begin = performance.now()
    await sleep(seconds * 1000)
    const took = (performance.now() - begin) / 1000
    if (this.#failure) throw this.#failure
    return {
      rate: this.#answers / took,
      p50: this.#percentile(0.5),
      p99: this.#percentile(0.99),
      max: this.#max,
      generator: performance.eventLoopUtilization(busy).utilization,
    }
  }

  /** Waits for the pending responses and closes the connections. */
  async stop(): Promise<void> {
    this.#isStopping = true
    while (this.#underWay > 0 && !this.#failure) await sleep(5)
    for (const socket of this.#sockets) socket.destroy()
    if (this.#failure) throw this.#failure
  }

  #percentile(share: number): number {
    let left = this.#answers * share
    for (let i = 0; i < classes; i++) {
      left -= this.#latencies[i] ?? 0
      if (left <= 0) return (i + 1) * classWidth
    }
    return classes * classWidth
  }

  #count(took: number): void {
    this.#answers++
    if (took > this.#max) this.#max = took
    const index = Math.min(classes - 1, Math.floor(took / classWidth))
    this.#latencies[index] = (this.#latencies[index] ?? 0) + 1
  }

  #fail(reason: string): void {
    this.#failure ??= new Error(`The load on port ${this.#options.port} broke: ${reason}`)
  }

  #open(): Promise<void> {
    const { port, requests, steps = 1, pause = 0 } = this.#options
    const next: NextRequest =
      typeof requests === 'function'
        ? requests
        : () => requests[Math.floor(Math.random() * requests.length)] ?? Buffer.alloc(0)
    return new Promise((resolve, reject) => {
      let begin = 0
      let step = 0
      let kept: Buffer | null = null

      const send = (answer: Buffer | null) => {
        if (this.#isStopping || this.#failure) return
        const request = next(answer)
        this.#underWay++
        if (step === 0) begin = performance.now()
        socket.write(request)
      }

      const receive = (size: number, buffer: Uint8Array): boolean => {
        const chunk = Buffer.from(buffer.buffer, buffer.byteOffset, size)
        const answer: Buffer = kept ? Buffer.concat([kept, chunk]) : chunk
        const missing = missingBytes(answer)
        if (missing > 0) {
          kept = Buffer.from(answer)
          return true
        }
        kept = null
        step = (step + 1) % steps
        if (missing < 0 || !(step === 0 ? isOk(answer) : isRedirect(answer))) {
          this.#fail(answer.toString('latin1').slice(0, 1000))
        }
        this.#underWay--
        if (step === 0) this.#count(performance.now() - begin)
        // The next response overwrites the buffer.
        if (pause > 0) setTimeout(send, pause, Buffer.from(answer))
        else send(answer)
        return true
      }

      const socket = connect({
        host: '127.0.0.1',
        port,
        noDelay: true,
        onread: { buffer: Buffer.allocUnsafeSlow(16_384), callback: receive },
      })
      this.#sockets.push(socket)
      socket.once('connect', () => {
        send(null)
        resolve()
      })
      socket.once('error', (error) => {
        this.#fail(error.message)
        reject(error)
      })
      socket.once('close', () => {
        if (!this.#isStopping) this.#fail('the server closed a connection')
      })
    })
  }
}

const chunked = Buffer.from('\r\nTransfer-Encoding: chunked')
const lastChunk = Buffer.from('0\r\n\r\n')

/** The number of missing bytes of a response, at least: 0 if complete, negative if another one has begun. */
function missingBytes(answer: Buffer): number {
  const head = answer.indexOf(headEnd)
  if (head < 0) return 1
  const [ours, koas] = lengthFields.map((name) => answer.indexOf(name)) as [number, number]
  const field = ours < 0 ? koas : ours
  if (field < 0 || field > head) {
    if (!answer.subarray(0, head + 2).includes(chunked)) return -1
    return answer.subarray(-lastChunk.length).equals(lastChunk) ? 0 : 1
  }
  let length = 0
  for (let i = field + lengthFields[0].length; ; i++) {
    const digit = (answer[i] ?? 0) - 48
    if (digit < 0 || digit > 9) break
    length = length * 10 + digit
  }
  return head + headEnd.length + length - answer.length
}
