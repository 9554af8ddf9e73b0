// The bare Fastify route that operations are compared with, in its own process: node bench/bare.ts <port>.
// It has svc's access log, on pino's own destination, and returns the same response through the same schema.
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import { pino } from 'pino'
import { UserSchema } from '../src/identity/user-schema.ts'
import { CurrentConfig } from '../src/platform/config/current.ts'
import { parseConfig } from '../src/platform/config/load.ts'
import type { Static } from '../src/platform/json-schema.ts'
import { addAccessLog, createLogger } from '../src/platform/observability/logging.ts'

const logger: FastifyBaseLogger = createLogger('info', pino.destination({ fd: 1, sync: false }))
const app = Fastify({
  loggerInstance: logger,
  logController: new LogController({ disableRequestLogging: true }),
})
// The access log reads its settings.
const env = { SVC_SECRET: 'the-secret-of-the-bench-is-32-bytes-long' }
const { config } = parseConfig({ text: '', file: 'bare.yaml', env, cwd: '.' })
app.decorate('config', new CurrentConfig(config))
addAccessLog(app)

const date = '2026-11-20T11:32:46.512000Z'
const user: Static<typeof UserSchema> = {
  id: 4711,
  name: 'User 4711',
  username: 'user-4711',
  email: 'user4711@example.com',
  email_verified_at: date,
  role: 'user',
  groups: [],
  two_factor_enabled: false,
  created_at: date,
  updated_at: date,
}
// The response has no body, because nginx closes the connection of a guard whose response has one.
app.get('/guard', async (_request, reply) => reply.send())
app.get('/api/user', { schema: { response: { 200: UserSchema } } }, async () => user)
await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) })
