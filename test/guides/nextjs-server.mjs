// Serves the route handlers of the Next.js guide as Next.js does: by method and path, with a promise of the parameters.
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'

const app = new URL('../../docs/guides/nextjs/app/', import.meta.url)

const listener = getRequestListener(async (request) => {
  const route = await import(new URL(`.${new URL(request.url).pathname}/route.js`, app).href).catch(() => ({}))
  const handler = route[request.method]
  return handler ? handler(request, { params: Promise.resolve({}) }) : new Response(null, { status: 404 })
})
createServer(listener).listen(Number(process.env.PORT), '127.0.0.1')
