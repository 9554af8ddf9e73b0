// engine: none
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { pingRedis } from '../../src/platform/database/redis.ts'
import { buildTestApp } from '../support/app.ts'
import { startMain, temporaryDirectory } from '../support/process.ts'
import { hasRedis, startRedis, startSentinels } from '../support/redis.ts'
import { Authority } from '../support/tls-proxy.ts'
import { until } from '../support/until.ts'

if (hasRedis(t)) {
  const authority = new Authority(t)
  const site = await startSentinels(t, authority)

  t.test('explains what is wrong with TLS, and starts without Redis', async (t) => {
    const svc = await buildTestApp(t, { settings: { redis: { ...site.settings, timeout: '1s' } } })
    await until(() => svc.logs.some((line) => line.includes('redis does not work')))
    t.match(svc.logs.join(''), /127\.0\.0\.1:\d+: unable to get local issuer certificate.*NODE_EXTRA_CA_CERTS/)
    t.equal((await svc.app.inject('/health/ready')).statusCode, 200)

    const { redis } = svc.config.current()
    const plain = new URL((await startRedis(t)).url).host
    const [sentinel = ''] = redis.sentinels
    const rows = [
      [{}, /unable to get local issuer certificate\. svc does not trust .*NODE_EXTRA_CA_CERTS/],
      [{ sentinels: [plain] }, /no answer.*With rediss:\/\/, Redis and the sentinels must use TLS/],
      [{ url: 'redis://the-primary' }, /If Redis or the sentinels require TLS, use rediss:\/\//],
      [{ url: `redis://${sentinel}`, sentinels: [] }, /If Redis or the sentinels require TLS, use rediss:\/\//],
    ] as const
    for (const [change, message] of rows) await t.rejects(pingRedis({ ...redis, ...change }), message)
  })

  t.test('trusts NODE_EXTRA_CA_CERTS, and follows Redis Sentinel to the new primary', async (t) => {
    const cwd = temporaryDirectory(t)
    const settings = {
      redis: { ...site.settings, timeout: '1s' },
      rate_limits: { token: '1000/1h', login_address: null },
    }
    writeFileSync(join(cwd, 'svc.yaml'), stringify(settings))
    const svc = await startMain(t, { cwd, env: { SVC_CONFIG: 'svc.yaml', NODE_EXTRA_CA_CERTS: authority.root } })
    const statuses = new Set<number>()
    const signIn = async () => {
      const body = { email: `${randomUUID()}@example.com`, password: 'wrong', device_name: 'Phone' }
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${svc.url}/svc/token`, { method: 'POST', headers, body: JSON.stringify(body) })
      statuses.add(answer.status)
    }
    const countsAt = async (port: number) => {
      const redis = site.connect(port)
      await redis.flushall()
      await until(async () => {
        await signIn()
        return (await redis.keys('svc:*')).length > 0
      })
      redis.disconnect()
    }
    const first = await site.port()
    await countsAt(first)
    await site.stopSentinel()
    await site.primary.stop()
    await until(async () => {
      await signIn()
      return (await site.port()) !== first
    })
    await countsAt(await site.port())
    t.same([...statuses], [422], 'no request failed')
    t.match(svc.stdout(), /redis does not work/)
    t.notMatch(svc.stdout(), /"level":"(error|fatal)"|client certificates/)
    t.equal(svc.stderr(), '', 'all messages are in the log')
  })
}
