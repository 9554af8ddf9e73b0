import type { FastifyBaseLogger } from 'fastify'
import type { Redis } from 'ioredis'
import type { Config } from '../config/schema.ts'

export type { Redis }

/** How long one command may take, in milliseconds: what waits for it waits no longer. */
const timeout = 500

/** How often an outage is told, in milliseconds. */
const toldEvery = 30_000

/** The Redis of the configuration, or null without one. Commands fail at once while it is away; what that means is up to who asks. */
export async function openRedis({ redis }: Config, log: FastifyBaseLogger): Promise<Redis | null> {
  if (redis.url === null) return null
  // Loaded only where it is used.
  const { Redis } = await import('ioredis')
  const client = new Redis(redis.url, {
    commandTimeout: timeout,
    connectTimeout: timeout,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: (times) => Math.min(100 * 2 ** times, 5_000),
    keyPrefix: 'svc:',
  })
  let told = Number.NEGATIVE_INFINITY
  client.on('error', (error: Error) => {
    if (performance.now() - told < toldEvery) return
    told = performance.now()
    log.warn({ err: error }, 'Redis cannot be reached')
  })
  await new Promise<void>((resolve) => {
    client.once('ready', resolve)
    client.once('error', () => resolve())
  })
  return client
}
