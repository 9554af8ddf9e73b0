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
    connectTimeout: redis.timeout,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: (times) => Math.min(100 * 2 ** times, 5_000),
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

/** Connects to a Redis once, for a check. Rejects if it does not answer. */
export async function pingRedis(url: string): Promise<void> {
  const { Redis } = await import('ioredis')
  const client = new Redis(url, {
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
