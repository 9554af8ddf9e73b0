import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { guard, guardTool } from '@svc/guard/express'
import express from 'express'

const { SVC_ISSUER: issuer, SVC_AUDIENCE: audience, PORT = '3000' } = process.env

/** The tools, for one caller. */
function toolsFor(caller) {
  const server = new McpServer({ name: 'orders', version: '1.0.0' })
  const who = caller.actor ? `${caller.id} by ${caller.actor.id}` : caller.id
  const answer = (text) => ({ content: [{ type: 'text', text }] })
  server.registerTool('list_orders', { description: 'List the orders' }, () => answer(`orders of ${who}`))
  server.registerTool('create_order', { description: 'Create an order' }, () => answer(`created by ${who}`))
  server.registerTool('delete_orders', { description: 'Delete all orders' }, () => answer(`deleted by ${who}`))
  return server
}

const app = express()
// Serves the metadata of the API (RFC 9728), and answers 401 with its address to a request without a token.
app.use(guard({ issuer, audience, metadata: { scopes_supported: ['orders:read'] } }))
app.use(express.json())
app.all(
  '/mcp',
  guardTool('list_*', { abilities: ['orders:read'] }),
  guardTool('create_*', { abilities: ['orders:write'] }),
  guardTool('delete_*', { abilities: ['orders:write'], secondFactor: true }),
  async (request, response) => {
    // Without sessions: each request has a server of its own, so that it cannot see those of another caller.
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    const server = toolsFor(request.caller)
    response.on('close', () => void server.close())
    await server.connect(transport)
    await transport.handleRequest(request, response, request.body)
  },
)
app.listen(Number(PORT), '127.0.0.1')
