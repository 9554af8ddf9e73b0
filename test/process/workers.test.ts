// engine: postgresql
import pg from 'pg'
import t, { type Test } from 'tap'
import type { Settings } from '../support/app.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { Scrape } from '../support/metrics.ts'
import { freePort, type Running, runCli, startMain } from '../support/process.ts'
import { machineToken, replaceFile, robot, settingsOf } from '../support/reloading.ts'
import { sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'
import { ClientLoad, isRunning, linesOf, linesWith, workersOf } from '../support/workers.ts'

/** Starts svc with two workers; both serve requests. */
async function start(t: Test, settings: Settings = {}): Promise<Running> {
  const server = { host: '127.0.0.1', workers: 2, ...(settings.server as object) }
  const svc = await startWithAda(t, {}, { clients: [robot('robot')], ...settings, server })
  await bothListen(svc)
  return svc
}

const listens = (worker: number, { port }: Running) => ({ worker, msg: `listening on http://127.0.0.1:${port}` })

/** Waits until each worker listens. */
const bothListen = (svc: Running) => until(() => [1, 2].every((worker) => linesWith(svc, listens(worker, svc)) > 0))

const tokenRequest = {
  method: 'POST',
  path: '/oauth/token',
  headers: {
    authorization: `Basic ${Buffer.from('robot:a-secret-that-is-long-enough').toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  },
  body: 'grant_type=client_credentials',
}

/** A read, and a POST that must not be repeated. */
async function requestsFor({ url }: Running) {
  const payload = { ...ada, device_name: 'Phone' }
  const { token } = (await sendRequest(url, { method: 'POST', url: '/svc/token', payload })).json()
  const headers = { accept: 'application/json', authorization: `Bearer ${token}` }
  return [{ path: '/api/user', headers }, tokenRequest]
}

const tokens = { route: '/oauth/token', status: '200' }

/** How many tokens all workers have issued. */
const issued = (metrics: Scrape) => metrics.value('svc_http_request_duration_seconds_count', tokens)

const invalid = 'the configuration is invalid, keeping the active configuration'
const crashed = 'worker ended unexpectedly, replacing it'

t.test('loses only requests in flight at a crash while workers are replaced, reloaded and stopped', async (t) => {
  const port = await freePort()
  const guard = { port, rules: [{ paths: ['/orders'], access: 'public' }] }
  const svc = await start(t, { guard, server: { trust_proxy: ['127.0.0.1'] } })
  const load = new ClientLoad(svc.port, await requestsFor(svc))
  const original = { 'x-original-method': 'GET', 'x-original-url': 'https://api.example.com/orders' }
  const checks = new ClientLoad(port, [{ path: '/svc/guard', headers: original }])
  const more = async () => {
    for (const each of [load, checks]) {
      const enough = each.ended + 5 * each.clients
      await until(() => each.ended >= enough)
    }
  }
  await more()
  const outcomes = () => [...new Set([load, checks].flatMap((each) => Object.keys(each.outcomes())))]
  t.same(outcomes(), ['200'], 'without any event')

  const first = workersOf(svc)
  t.equal(first.length, 2)
  for (const pid of first) process.kill(pid, 'SIGTERM')
  await until(() => first.every((pid) => !isRunning(pid)))
  await more()
  t.same(outcomes(), ['200'], 'while both workers were replaced')
  t.equal(workersOf(svc).length, 2)

  for (let n = 1; n <= 3; n++) {
    replaceFile(svc, { ...settingsOf(svc), app: { url: svc.url, name: `Name ${n}` } })
    svc.child.kill('SIGHUP')
    await until(() => [1, 2].every((worker) => linesWith(svc, { worker, msg: 'configuration reloaded' }) >= n))
    await more()
  }
  t.same(outcomes(), ['200'], 'during reloads')

  const reload = () => runCli(['config:reload', '--json'], svc)
  t.match(JSON.parse((await reload()).stdout), { pid: svc.child.pid, accepted: true, changed: [] })
  replaceFile(svc, 'nonsense: 1\n')
  await until(() => linesWith(svc, { msg: invalid }) === 2)
  const rejected = await reload()
  t.equal(rejected.code, 78)
  t.match(JSON.parse(rejected.stdout), { accepted: false, problems: [/nonsense/] })
  t.equal(JSON.parse(rejected.stdout).problems.length, 1, 'once for all workers')
  process.kill(workersOf(svc)[0] ?? 0, 'SIGKILL')
  await until(() => linesWith(svc, { msg: crashed }) === 1)
  await until(() => [1, 2].reduce((sum, worker) => sum + linesWith(svc, listens(worker, svc)), 0) === 5)
  await more()
  for (const each of [load, checks]) {
    const { 200: answered, ECONNRESET: inFlight = 0, ...failed } = each.outcomes()
    t.ok(answered)
    t.same(failed, {}, 'a crash fails no request that another worker could take')
    t.ok(inFlight <= each.clients, `${inFlight} requests were in flight`)
  }
  const worker = linesOf(svc).find(({ msg }) => msg === crashed)?.worker ?? 0
  await until(async () => {
    const page = await sendRequest(svc.url, { url: '/oauth/login', headers: { accept: 'text/html' } })
    t.match(page.body, 'Name 3', 'the new worker has the configuration of the other one')
    return linesWith(svc, { worker, route: '/oauth/login' }) > 0
  })

  const readiness = async () => (await sendRequest(svc.url, { url: '/health/ready' })).json().status
  await until(async () => (await readiness()) === 'ok')
  svc.child.kill('SIGTERM')
  await until(async () => (await readiness()) === 'stopping')
  await Promise.all([load.stop(), checks.stop()])
  t.same(outcomes(), ['200'], 'until the load balancer sees that svc stops')
  t.equal((await svc.ended).code, 0)
  const errors = linesOf(svc).filter(({ level = '' }) => ['error', 'fatal'].includes(level))
  t.same([...new Set(errors.map(({ msg }) => msg))].sort(), [invalid, crashed].sort())
})

t.test('combines the metrics, limits, logs and shutdown of all workers', async (t) => {
  const port = await freePort()
  // A loopback address has ten times this budget.
  const svc = await start(t, { metrics: { port }, rate_limits: { global: '6/1h' } })
  const scrape = async () => Scrape.of(port)
  const ask = async (count: number) => {
    for (let n = 0; n < count; n++) t.equal((await machineToken(svc, 'robot')).statusCode, 200)
  }

  await t.test('sums the metrics of all workers, also of those that ended', async (t) => {
    await ask(20)
    const before = await scrape()
    t.equal(issued(before), 20)
    t.equal(before.value('svc_tokens_issued_total', { kind: 'access_token' }), 20)
    t.equal(before.value('svc_http_request_duration_seconds_bucket', { ...tokens, le: '+Inf' }), 20)
    t.equal(before.value('svc_build_info'), 1, 'facts are not summed')
    t.equal(before.value('svc_database_up'), 1)
    t.equal(before.value('svc_workers'), 2)
    t.ok((before.value('process_start_time_seconds') ?? 0) > 0)
    process.kill(workersOf(svc)[0] ?? 0, 'SIGKILL')
    await until(async () => (await scrape()).value('svc_worker_crashes_total') === 1)
    t.equal(issued(await scrape()), 20, 'the counts of a crashed worker remain')
    await until(async () => (await scrape()).value('svc_workers') === 2)
    await ask(10)
    const [stopped = 0] = workersOf(svc)
    process.kill(stopped, 'SIGTERM')
    await until(() => !isRunning(stopped))
    t.equal(issued(await scrape()), 30, 'so do those of a worker that stopped, which nothing has read before')
  })

  await t.test('counts the limit on all requests over all workers', async (t) => {
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async () => (await sendRequest(svc.url, { url: '/openapi.json' })).statusCode),
    )
    t.equal(statuses.filter((status) => status === 200).length, 30, 'what the requests above left')
    t.equal(statuses.filter((status) => status === 429).length, 10)
    const served = () => [1, 2].map((worker) => linesWith(svc, { worker, route: '/openapi.json', msg: 'request' }))
    await until(() => served().reduce((sum, count) => sum + count) === 40)
  })

  await t.test('waits longer before each replacement of a worker that crashes repeatedly', async (t) => {
    const known = new Set(workersOf(svc))
    let [pid = 0] = known
    for (let crash = 0; crash < 3; crash++) {
      process.kill(pid, 'SIGKILL')
      await until(() => workersOf(svc).some((each) => !known.has(each)))
      pid = workersOf(svc).find((each) => !known.has(each)) ?? 0
      known.add(pid)
    }
    for (const replaced_after_ms of [1_000, 2_000])
      t.ok(linesWith(svc, { msg: crashed, replaced_after_ms }), `${replaced_after_ms} ms`)
  })

  await t.test('ends its workers when the first process is killed, and starts again on the same port', async (t) => {
    const workers = workersOf(svc)
    svc.child.kill('SIGKILL')
    await until(() => !workers.some(isRunning))
    const client = new pg.Client(svc.env.DATABASE_URL)
    await client.connect()
    await client.query("UPDATE jobs SET last_run_at = now() - interval '2 days' WHERE name = 'prune-expired'")
    await client.end()
    const again = await startMain(t, { cwd: svc.cwd, env: svc.env })
    await bothListen(again)
    const ran = () => linesWith(again, { msg: 'job started', job: 'prune-expired' })
    await until(() => ran() > 0)
    t.equal((await again.stop()).code, 0)
    t.equal(ran(), 1, 'one worker runs the daily jobs')
    t.equal(linesWith(again, { worker: 1, msg: 'job started' }), linesWith(again, { msg: 'job started' }))
  })
})
