// The API of the shop. It verifies the access tokens of svc.
import { abilities, guard } from '@svc/guard/fastify'
import fastify from 'fastify'

const orders = [{ id: 1, item: 'Coffee', by: 'Grace' }]

const app = fastify()
await app.register(guard({ issuer: 'http://localhost:8000', audience: 'http://localhost:3000' }))

app.get('/orders', { onRequest: abilities('orders:read') }, async () => orders)

app.post('/orders', { onRequest: abilities('orders:write') }, async ({ body, caller }, reply) => {
  const order = { id: orders.length + 1, item: String(body?.item ?? ''), by: caller.name }
  orders.push(order)
  return reply.code(201).send(order)
})

await app.listen({ host: '127.0.0.1', port: 3000 })
