import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { createTestDatabase, testEngine } from '../../support/postgresql.ts'
import { startMain } from '../../support/process.ts'
import { openProxy } from '../../support/proxy.ts'
import { sendRequest } from '../../support/remote.ts'
import { until } from '../../support/until.ts'

const ready = { status: 'ok', checks: { database: 'ok' } }
const unready = { status: 'unavailable', checks: { database: 'unavailable' } }

t.test('reports a process that can serve as live and ready', async (t) => {
  const { app } = await buildTestApp(t)
  const live = await app.inject('/health/live')
  t.equal(live.statusCode, 200)
  t.same(live.json(), { status: 'ok' })
  const answer = await app.inject('/health/ready')
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), ready)
  t.equal(answer.headers['set-cookie'], undefined)
})

if (testEngine === 'postgresql') {
  t.test('stays live but not ready without PostgreSQL, and recovers without a restart', async (t) => {
    const database = await createTestDatabase()
    t.teardown(database.drop)
    const proxy = await openProxy(t, new URL(database.url))
    const svc = await startMain(t, { env: { DATABASE_URL: proxy.url } })
    const get = async (path: string) => {
      const { statusCode, body, headers } = await sendRequest(svc.url, {
        url: path,
        headers: { authorization: 'Bearer 1|x' },
      })
      return { status: statusCode, body: JSON.parse(body), headers }
    }
    t.match(await get('/health/ready'), { status: 200, body: ready })
    t.match(await get('/api/user'), { status: 401 })

    proxy.cut()
    for (let n = 0; n < 3; n++) t.match(await get('/health/ready'), { status: 503, body: unready })
    t.match(await get('/health/live'), { status: 200, body: { status: 'ok' } })
    const refused = await get('/api/user')
    t.match(refused, { status: 503, body: { code: 'unavailable' } }, 'never 401')
    t.ok(Number(refused.headers['retry-after']) > 0)

    await proxy.open()
    await until(async () => (await get('/health/ready')).status === 200)
    t.match(await get('/health/ready'), { status: 200, body: ready })
    t.match(await get('/api/user'), { status: 401, body: { code: 'unauthenticated' } })
    t.equal((await svc.stop()).code, 0)
    t.notMatch(svc.stdout(), /"level":"(error|fatal)"/, 'an outage causes no internal error')
  })

  t.test('does not wait for a database that hangs', async (t) => {
    const database = await createTestDatabase()
    t.teardown(database.drop)
    const proxy = await openProxy(t, new URL(database.url))
    const svc = await startMain(t, { env: { DATABASE_URL: proxy.url } })
    t.equal((await sendRequest(svc.url, { url: '/health/ready' })).statusCode, 200)
    proxy.fallSilent()
    const answer = await sendRequest(svc.url, { url: '/health/ready' })
    t.equal(answer.statusCode, 503)
    t.same(answer.json(), unready)
    t.equal((await sendRequest(svc.url, { url: '/health/live' })).statusCode, 200)
  })
} else {
  t.test('reports not ready while the file is not a database, and recovers', async (t) => {
    const { app, database } = await buildTestApp(t)
    const ping = database.ping
    database.ping = () => Promise.reject(new Error('disk I/O error'))
    const answer = await app.inject('/health/ready')
    t.equal(answer.statusCode, 503)
    t.same(answer.json(), unready)
    database.ping = ping
    t.equal((await app.inject('/health/ready')).statusCode, 200)
  })
}
