// engine: none
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { stopTime, travel } from '../../../support/time.ts'
import { assertion, buildServer, credentials, type Key, machine, newKey, post } from './parties.ts'

const [first, second, third, stranger] = await Promise.all(['a', 'b', 'c', 'd'].map((kid) => newKey('ES256', kid)))
if (!first || !second || !third || !stranger) throw new Error('No keys.')

/** A client's server that publishes its keys. */
async function publish(t: Test, ...keys: Key[]) {
  const site = { keys, calls: 0, isDown: false, port: 0 }
  const server = createServer((_request, response) => {
    site.calls++
    if (site.isDown) return response.destroy()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ keys: site.keys.map(({ jwk }) => jwk) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  site.port = typeof address === 'object' && address ? address.port : 0
  return site
}

async function build(t: Test, ...keys: Key[]) {
  const site = await publish(t, ...keys)
  const jwks_uri = `http://127.0.0.1:${site.port}/jwks.json`
  const clock = stopTime(t)
  const svc = await buildServer(t, [machine('robot', { jwks_uri, allow_private_addresses: true })], { clock })
  const statusOf = async (key: Key) =>
    (await post(svc, '/oauth/token', { ...credentials, ...(await assertion(key, 'robot')) })).statusCode
  return { site, svc, statusOf }
}

t.test('fetches a new key of a client immediately, at most every 10 seconds', async (t) => {
  const { site, svc, statusOf } = await build(t, first)
  t.equal(await statusOf(first), 200)
  t.equal(site.calls, 1)
  site.keys = [first, second]
  t.equal(await statusOf(second), 200, 'the new key works immediately')
  t.equal(site.calls, 2)
  site.keys = [first, second, third]
  t.equal(await statusOf(third), 401, 'no second fetch within 10 seconds')
  for (const key of [stranger, stranger, stranger]) t.equal(await statusOf(key), 401)
  t.equal(site.calls, 2, 'unknown keys cause no calls')
  travel(svc, 10_000)
  const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(third)))
  t.same(statuses, Array(10).fill(200), 'concurrent requests share one fetch')
  t.equal(site.calls, 3)
})

t.test('rejects a removed key once the fetched keys are stale', async (t) => {
  const { site, svc, statusOf } = await build(t, first, second)
  t.equal(await statusOf(first), 200)
  site.keys = [second]
  travel(svc, 61_000)
  t.equal(await statusOf(first), 401)
  t.equal(await statusOf(second), 200)
})

t.test("accepts known keys while the client's server is down", async (t) => {
  const { site, svc, statusOf } = await build(t, first)
  t.equal(await statusOf(first), 200)
  site.isDown = true
  t.equal(await statusOf(stranger), 401)
  const { calls } = site
  t.equal(await statusOf(first), 200, 'after a failed fetch for an unknown key')
  t.equal(await statusOf(stranger), 401)
  t.equal(site.calls, calls, 'failed calls are limited too')
  travel(svc, 61_000)
  t.equal(await statusOf(first), 200, 'also when they are stale')
})
