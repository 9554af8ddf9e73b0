import type { FastifyBaseLogger } from 'fastify'
import type { Command, Redis } from 'ioredis'
import type { Config } from '../config/schema.ts'

export type { Redis }

/** The minimum interval between two log lines about an outage, in milliseconds. */
const logInterval = 30_000

/** The Redis of the configuration, or null without one. Commands fail immediately while svc is not connected to it. */
export async function openRedis({ redis }: Config, log: FastifyBaseLogger): Promise<Redis | null> {
  if (redis.url === null) return null
  // Loaded only where it is used.
  const { Redis } = await import('ioredis')
  const client = new Redis(redis.url, {
    ...sentinelOptions(redis),
    connectTimeout: redis.timeout,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: delayOf,
    // A primary that became a replica.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
    keyPrefix: 'svc:',
  })
  const send = client.sendCommand.bind(client)
  client.sendCommand = (command, stream) => {
    limitCommand(command, redis.timeout)
    return send(command, stream)
  }
  let loggedAt = Number.NEGATIVE_INFINITY
  client.on('error', (error: Error) => {
    if (performance.now() - loggedAt < logInterval) return
    loggedAt = performance.now()
    log.warn({ err: error }, 'Redis cannot be reached')
  })
  await new Promise<void>((resolve) => {
    client.once('ready', resolve)
    client.once('error', () => resolve())
  })
  return client
}

const delayOf = (attempts: number): number => Math.min(100 * 2 ** attempts, 5_000)

/** Options that find the primary through Redis Sentinel. The host of `url` is then its name. */
function sentinelOptions({ url, sentinels, sentinel_password, timeout }: Config['redis']) {
  if (url === null || sentinels.length === 0) return {}
  const { protocol, hostname } = new URL(url)
  return {
    name: hostname,
    sentinels: sentinels.map((address) => {
      const { hostname: host, port } = new URL(`redis://${address}`)
      return { host: host.replace(/^\[|\]$/g, ''), port: Number(port || 26_379) }
    }),
    ...(sentinel_password !== null && { sentinelPassword: sentinel_password }),
    ...(protocol === 'rediss:' && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: timeout,
    sentinelRetryStrategy: delayOf,
    sentinelReconnectStrategy: delayOf,
    // Closes the connection to the former primary, which may hang or still accept writes.
    failoverDetector: true,
    disconnectTimeout: timeout,
  }
}

/** Connects to the configured Redis once, for a check. Rejects if it does not answer. */
export async function pingRedis(redis: Config['redis']): Promise<void> {
  const { Redis } = await import('ioredis')
  const client = new Redis(redis.url ?? '', {
    ...sentinelOptions(redis),
    sentinelRetryStrategy: () => null,
    lazyConnect: true,
    connectTimeout: 5_000,
    commandTimeout: 5_000,
    retryStrategy: null,
  })
  let reason: unknown
  client.on('error', (error) => {
    reason = error
  })
  try {
    await client.connect()
    await client.ping()
  } catch (error) {
    // The error of the connection says more than that it is closed.
    throw reason ?? error
  } finally {
    client.disconnect()
  }
}

/**
 * Rejects a command that Redis did not answer within the timeout, in milliseconds. Unlike the library's
 * `commandTimeout`, it reads the socket once more before it rejects: while this process was busy, the answer may have
 * arrived. Otherwise svc would answer 503 to the one request that used up a code.
 */
function limitCommand(command: Command, timeout: number): void {
  let lastRead: NodeJS.Immediate | undefined
  const reject = () => command.reject(new Error('Command timed out'))
  const timer = setTimeout(() => {
    lastRead = setImmediate(reject)
  }, timeout)
  const stop = () => {
    clearTimeout(timer)
    clearImmediate(lastRead)
  }
  command.promise.then(stop, stop)
}
