// engine: none
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { buildTestApp, testConfig } from '../../support/app.ts'
import { createTestDatabase } from '../../support/postgresql.ts'
import { freePort, runMain, temporaryDirectory } from '../../support/process.ts'

// Starting a process takes time on a busy machine.
t.test('serves metrics only on their own port, and not at all by default', async (t) => {
  const port = await freePort()
  const svc = await buildTestApp(t, { settings: { metrics: { port }, server: { host: '127.0.0.1' } } })
  const ask = (method: string, path: string) => fetch(`http://127.0.0.1:${port}${path}`, { method })
  const told = await ask('GET', '/metrics')
  t.equal(told.status, 200)
  t.equal(told.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  await told.text()
  for (const [method, path] of [
    ['POST', '/metrics'],
    ['GET', '/'],
    ['GET', '/metrics/x'],
    ['GET', '/health/live'],
  ] as const)
    t.equal((await ask(method, path)).status, 404, `${method} ${path}`)
  t.equal((await svc.app.inject('/metrics')).statusCode, 404, 'not on the public port')
  t.notMatch(JSON.stringify((await svc.app.inject('/openapi.json')).json().paths), '/metrics')
  await svc.app.close()
  await t.rejects(ask('GET', '/metrics'), 'it ends with the server')

  const plain = await buildTestApp(t)
  t.equal(plain.app.metrics, null)
  t.equal((await plain.app.inject('/metrics')).statusCode, 404)
  t.equal(testConfig({}).current().metrics.port, null)
})

t.test('fails at start with one clear line when the port is in use', async (t) => {
  const taken = createServer().listen(0, '0.0.0.0')
  await new Promise((done) => taken.once('listening', done))
  t.teardown(() => taken.close())
  const address = taken.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const cwd = temporaryDirectory(t)
  writeFileSync(join(cwd, 'svc.yaml'), `metrics: { port: ${port} }\n`)
  const database = await createTestDatabase({ bare: true })
  t.teardown(database.drop)
  const env = { SVC_CONFIG: 'svc.yaml', DATABASE_URL: database.url }
  const { code, stderr } = await runMain(t, { cwd, env })
  t.equal(code, 1)
  t.equal(stderr, `svc cannot listen: port ${port} is in use. Set metrics.port to a port that is free, or to null.\n`)
})
