import assert from 'node:assert/strict'
import test from 'node:test'
import { actingAs, testOptions } from '@svc/guard/testing'
import { buildApp } from './app.js'

test('lists orders for tokens with orders:read', async (t) => {
  const app = await buildApp(await testOptions())
  t.after(() => app.close())

  const headers = await actingAs({ id: 7, abilities: ['orders:read'] })
  const response = await app.inject({ url: '/orders', headers })
  assert.deepEqual(response.json(), { user: '7', orders: [] })
  assert.equal((await app.inject('/orders')).statusCode, 401)
})
