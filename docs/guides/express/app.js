import { abilities, guard } from '@svc/guard/express'
import express from 'express'

export function buildApp(options) {
  const app = express()
  app.use(guard(options))

  app.get('/orders', abilities('orders:read'), ({ caller }, response) => {
    response.json({ user: caller.id, orders: [] })
  })
  app.post('/orders', abilities('orders:write'), ({ caller }, response) => {
    response.status(201).json({ user: caller.id })
  })
  return app
}
