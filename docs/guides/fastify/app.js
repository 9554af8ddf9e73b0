import { abilities, guard } from '@svc/guard/fastify'
import fastify from 'fastify'

export async function buildApp(options) {
  const app = fastify()
  await app.register(guard(options))

  app.get('/orders', { onRequest: abilities('orders:read') }, async ({ caller }) => ({ user: caller.id, orders: [] }))
  app.post('/orders', { onRequest: abilities('orders:write') }, async ({ caller }, reply) => {
    reply.code(201)
    return { user: caller.id }
  })
  return app
}
