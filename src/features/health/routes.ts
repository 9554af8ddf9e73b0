import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorHeaders } from '../../platform/http/description/problems.ts'
import { Type } from '../../platform/json-schema.ts'

const open = { access: { family: 'none' } } as const

const Liveness = Type.Object(
  { status: Type.String({ description: '`ok`.' }) },
  { title: 'Liveness', description: 'The process answers.', examples: [{ status: 'ok' }] },
)

const Readiness = Type.Object(
  {
    status: Type.String({ description: '`ok`, `stopping` or `unavailable`.' }),
    checks: Type.Record(Type.String(), Type.String(), { description: 'The state of each dependency.' }),
  },
  {
    title: 'Readiness',
    description: 'Whether the process can serve requests.',
    examples: [{ status: 'ok', checks: { database: 'ok' } }],
  },
)

/** Database timeout in milliseconds, so that health checks return in time. */
const timeout = 2_000

/** Rejects after the timeout. */
const silence = (): Promise<never> =>
  new Promise((_resolve, reject) => {
    setTimeout(() => reject(new Error(`no answer within ${timeout} ms`)), timeout).unref()
  })

/** Liveness and readiness. */
const health: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/health/live',
    {
      config: open,
      schema: {
        operationId: 'getLiveness',
        tags: ['Health'],
        summary: 'Liveness check',
        description: 'Checks no dependencies. Use it to decide whether to restart the process.',
        response: { 200: Liveness },
      },
    },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/health/ready',
    {
      config: open,
      schema: {
        operationId: 'getReadiness',
        tags: ['Health'],
        summary: 'Readiness check',
        description:
          'Pings the database, for at most two seconds. Answers 503 without the database, and from the moment that svc is asked to stop, so that a load balancer sends its requests to other replicas.',
        response: { 200: Readiness, 503: { ...Readiness, headers: errorHeaders.retryAfter } },
      },
    },
    async (request, reply) => {
      app.stopping.askedAt = performance.now()
      app.worker?.reportReadinessCheck()
      // When a single worker stops, the others keep serving.
      if (app.stopping.hasBegun && !app.stopping.isReplaced)
        return reply.code(503).header('retry-after', '1').send({ status: 'stopping', checks: {} })
      try {
        await Promise.race([app.database.ping(), silence()])
        return { status: 'ok', checks: { database: 'ok' } }
      } catch (error) {
        request.log.warn({ err: error }, 'database not responding')
        return reply
          .code(503)
          .header('retry-after', '1')
          .send({ status: 'unavailable', checks: { database: 'unavailable' } })
      }
    },
  )
}

export default health
