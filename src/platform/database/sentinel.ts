import type { Redis, RedisOptions, SentinelConnector } from 'ioredis'
import type { Config } from '../config/schema.ts'
import { explainRedisErrors, firstWords } from './redis-errors.ts'

const noAnswer = new Error('no answer, or the connection was closed')

interface Sentinel {
  host: string
  port: number
}

/** A method of the library's connector that its types declare as private. */
interface Connections {
  connectToSentinel(sentinel: Sentinel, options?: RedisOptions): Redis
}

/** Finds the primary through Redis Sentinel, and remembers why sentinels cannot be used. */
export class Sentinels {
  readonly #redis: Config['redis']
  readonly #failures = new Map<string, Error>()

  constructor(redis: Config['redis']) {
    this.#redis = redis
  }

  /** Options of the library. The host of `redis.url` is then the name of the primary. */
  options(Connector: typeof SentinelConnector, retryStrategy: (attempts: number) => number | null) {
    const { url, sentinels, sentinel_password, timeout } = this.#redis
    if (url === null || sentinels.length === 0) return {}
    const { protocol, hostname } = new URL(url)
    return {
      name: hostname,
      sentinels: sentinels.map(addressOf),
      ...(sentinel_password !== null && { sentinelPassword: sentinel_password }),
      ...(protocol === 'rediss:' && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
      sentinelCommandTimeout: timeout,
      sentinelRetryStrategy: retryStrategy,
      sentinelReconnectStrategy: retryStrategy,
      // Closes the connection to the former primary, which may hang or still accept writes.
      failoverDetector: true,
      disconnectTimeout: timeout,
      Connector: this.#listenTo(Connector),
    }
  }

  /** Adds hints to the error, and the reason of each sentinel, which the library leaves out. */
  async explain(error: Error, worked: boolean): Promise<Error> {
    const { url, sentinels } = this.#redis
    const isReset = 'code' in error && ['ECONNRESET', 'EPIPE'].includes(String(error.code))
    const words = isReset && !worked && url !== null && sentinels.length === 0 ? await firstWords(url) : null
    if (words !== null) return new Error(words)
    const state = { url, worked }
    const isUnreachable = error.message.startsWith('All sentinels are unreachable')
    const errors = isUnreachable ? [...this.#failures.values()] : [error]
    const reasons = [...this.#failures].map(([address, { message }]) => `${address}: ${message.trim()}`)
    const last = /Last error: (.+)$/.exec(error.message)?.[1] ?? ''
    if (!/^(Connection is closed|Command timed out|$)/.test(last)) reasons.push(last)
    const text = isUnreachable ? `No sentinel can be used: ${reasons.join('; ')}` : error.message
    const explained = explainRedisErrors(text, errors, state)
    return explained === error.message ? error : new Error(explained)
  }

  /**
   * Listens to the errors of connections to sentinels. Otherwise the library reports them as "Connection is closed". It also
   * repeatedly prints those of its subscriptions to standard error while a sentinel is down.
   */
  #listenTo(Connector: typeof SentinelConnector) {
    const failures = this.#failures
    return class extends Connector {
      constructor(options: unknown) {
        // Sound: the library passes the options that it received.
        super(options as ConstructorParameters<typeof SentinelConnector>[0])
        // Sound: see Connections.
        const connections = this as unknown as Connections
        const connect = connections.connectToSentinel.bind(this)
        connections.connectToSentinel = (sentinel, options) => {
          const address = `${sentinel.host}:${sentinel.port}`
          failures.set(address, noAnswer)
          return connect(sentinel, options)
            .on('error', (error: Error) => failures.set(address, error))
            .on('ready', () => failures.delete(address))
        }
      }
    }
  }
}

function addressOf(text: string): Sentinel {
  const { hostname, port } = new URL(`redis://${text}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 26_379) }
}
