import type { Command, Redis } from 'ioredis'
import type { CurrentConfig } from '../config/current.ts'
import type { Config } from '../config/schema.ts'
import type { Dependencies } from '../dependencies.ts'
import { isInTransaction } from './after-commit.ts'
import { RedisBreaker } from './redis-breaker.ts'
import { Sentinels } from './sentinel.ts'

export type { Redis }

/** The Redis of the configuration, or null without one. Commands fail immediately while svc is not connected to it. */
export async function openRedis(config: CurrentConfig, dependencies: Dependencies): Promise<Redis | null> {
  const { redis } = config.current()
  if (redis.url === null) return null
  // Loaded only where it is used.
  const { Redis, SentinelConnector } = await import('ioredis')
  const sentinels = new Sentinels(redis)
  const client = new Redis(redis.url, {
    ...sentinels.options(SentinelConnector, delayOf),
    connectTimeout: redis.timeout,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: delayOf,
    // Reconnects if the primary became a replica.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
    keyPrefix: 'svc:',
  })
  const breaker = new RedisBreaker(client, dependencies.of('redis'))
  const send = client.sendCommand.bind(client)
  client.sendCommand = (command, stream) => {
    if (isInTransaction()) {
      command.reject(new Error('Redis must not be used inside a transaction, which could not roll it back.'))
      return command.promise
    }
    if (!breaker.admit(command)) return command.promise
    limitCommand(command, redis.timeout)
    return send(command, stream)
  }
  const unwatch = config.watch(() => {
    // The next connection uses them.
    Object.assign(client.options, credentialsOf(config.current().redis.url ?? ''))
  })
  let isClosed = false
  const disconnect = client.disconnect.bind(client)
  client.disconnect = (reconnect = false) => {
    isClosed = !reconnect
    if (isClosed) {
      unwatch()
      breaker.close()
    }
    disconnect(reconnect)
  }
  // The library gives up if a sentinel announces a failover while the library asks for the primary.
  client.on('end', () => {
    if (!isClosed) client.connect().catch(() => undefined)
  })
  let worked = false
  client.once('ready', () => {
    worked = true
  })
  client.on('error', (error: Error) => {
    void sentinels.explain(error, worked).then((explained) => breaker.open(explained))
  })
  client.on('close', () => {
    if (!isClosed && worked) breaker.open(new Error('it closed the connection'))
  })
  await new Promise<void>((resolve) => {
    client.once('ready', resolve)
    client.once('error', () => resolve())
  })
  return client
}

function credentialsOf(url: string) {
  const { username = '', password = '' } = URL.parse(url) ?? {}
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) }
}

const delayOf = (attempts: number): number => Math.min(100 * 2 ** attempts, 5_000)

/** Connects to the configured Redis once, for a check. Rejects if it does not answer. */
export async function pingRedis(redis: Config['redis']): Promise<void> {
  const { Redis, SentinelConnector } = await import('ioredis')
  const sentinels = new Sentinels(redis)
  const client = new Redis(redis.url ?? '', {
    ...sentinels.options(SentinelConnector, () => null),
    lazyConnect: true,
    connectTimeout: 5_000,
    commandTimeout: 5_000,
    retryStrategy: null,
  })
  let reason: Error | undefined
  client.on('error', (error) => {
    reason = error
  })
  try {
    await client.connect()
    // Writes, because a Redis that is full or a replica still answers a PING.
    await client.set('svc:doctor', '1', 'PX', 1_000)
  } catch (error) {
    // The error of the connection is more specific than that of the command, which says only that it is closed.
    throw await sentinels.explain(reason ?? (error as Error), false)
  } finally {
    client.disconnect()
  }
}

/**
 * Rejects a command that Redis did not answer within the timeout, in milliseconds. Unlike the library's
 * `commandTimeout`, it reads the socket again before it gives up, because the answer may have arrived while this process was busy.
 * Without this, svc could answer 503 to the request that used up a one-time code.
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
