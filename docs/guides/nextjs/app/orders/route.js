import { abilities } from '@svc/guard/fetch'
import { api } from '../../api.js'

export const GET = api(
  async (_request, { caller }) => Response.json({ user: caller.id, orders: [] }),
  abilities('orders:read'),
)

export const POST = api(
  async (_request, { caller }) => Response.json({ user: caller.id }, { status: 201 }),
  abilities('orders:write'),
)
