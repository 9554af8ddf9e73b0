import assert from 'node:assert/strict'
import { once } from 'node:events'
import test from 'node:test'
import { actingAs, testOptions } from '@svc/guard/testing'
import { buildApp } from './app.js'

test('lists orders for tokens with orders:read', async (t) => {
  const server = buildApp(await testOptions()).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}/orders`

  const response = await fetch(url, { headers: await actingAs({ id: 7, abilities: ['orders:read'] }) })
  assert.deepEqual(await response.json(), { user: '7', orders: [] })
  assert.equal((await fetch(url)).status, 401)
})
