// engine: postgresql
import { once } from 'node:events'
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createTestDatabase } from '../support/postgresql.ts'
import { runCli, runMain, startMain, temporaryDirectory } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'
import { linesWith } from '../support/workers.ts'

function inDirectory(t: Test, settings: string): string {
  const cwd = temporaryDirectory(t)
  writeFileSync(join(cwd, 'svc.yaml'), settings)
  return cwd
}

async function environment(t: Test): Promise<Record<string, string>> {
  const database = await createTestDatabase()
  t.teardown(database.drop)
  return { SVC_CONFIG: 'svc.yaml', DATABASE_URL: database.url }
}

t.test('accepts several workers only with PostgreSQL', async (t) => {
  const env = { SVC_CONFIG: 'svc.yaml' }
  const cwd = inDirectory(t, 'server:\n  workers: 2\n')
  const reason = /^svc\.yaml:2: server\.workers: must be 1 with SQLite, because only one process at a time .*PostgreSQL/
  for (const ended of [await runMain(t, { cwd, env }), await runCli(['config:check'], { cwd, env })]) {
    t.equal(ended.code, 78)
    t.match(ended.stderr, reason)
  }
  const check = async (settings: string) =>
    (await runCli(['config:check'], { cwd: inDirectory(t, settings), env })).code
  t.equal(await check('server: { workers: auto }'), 0, 'auto is 1')
  t.equal(await check('server: { workers: 4 }\ndatabase: { url: "postgresql://db/svc" }'), 0)
  for (const value of ['0', '129', '1.5', 'many', 'null'])
    t.equal(await check(`server: { workers: ${value} }\ndatabase: { url: "postgresql://db/svc" }`), 78, value)
})

t.test('ends with one clear message if the first worker cannot start', async (t) => {
  const cwd = inDirectory(t, 'server: { workers: 2 }\n')
  const env = await environment(t)
  const svc = await startMain(t, { cwd, env })
  const taken = await runMain(t, { cwd, env: { ...env, PORT: String(svc.port) } })
  t.equal(taken.code, 1)
  t.match(taken.stderr, new RegExp(`^svc cannot listen: port ${svc.port} is in use\\. .*PORT.*\\n$`))
  t.equal((await svc.stop()).code, 0, 'a stop while the second worker may still start')
  const away = await runMain(t, { cwd, env: { ...env, DATABASE_URL: 'postgresql://svc:very-secret@127.0.0.1:1/svc' } })
  t.equal(away.code, 1)
  t.match(away.stderr, /^The database cannot be used: .*DATABASE_URL.*\n$/)
  const taker = createServer().listen(0, '0.0.0.0')
  await once(taker, 'listening')
  t.teardown(() => taker.close())
  const address = taker.address()
  const metrics = typeof address === 'object' && address ? address.port : 0
  const other = inDirectory(t, `server: { workers: 2 }\nmetrics: { port: ${metrics} }\n`)
  const twice = await runMain(t, { cwd: other, env })
  t.equal(twice.code, 1)
  t.match(twice.stderr, /^svc cannot listen: port \d+ is in use\. Set metrics\.port to .*\n$/)
})

const groups = '/sys/fs/cgroup'
const isSecond = existsSync(join(groups, 'cgroup.controllers'))

/** A control group with a limit of one CPU; null if this process must not create one. */
function limitedGroup(t: Test): string | null {
  const folder = join(groups, isSecond ? '' : 'cpu', `svc-test-${process.pid}`)
  try {
    mkdirSync(folder)
    t.teardown(() => rmdirSync(folder))
    const [file, limit] = isSecond ? ['cpu.max', '100000 100000'] : ['cpu.cfs_quota_us', '100000']
    writeFileSync(join(folder, file), limit)
    return join(folder, 'cgroup.procs')
  } catch {
    return null
  }
}

t.test('starts as many workers with auto as the container has CPUs', async (t) => {
  const cwd = inDirectory(t, 'server: { workers: auto }\n')
  const env = await environment(t)
  const count = availableParallelism()
  const svc = await startMain(t, { cwd, env })
  if (count > 1) await svc.printed(/"workers started"/)
  t.equal(linesWith(svc, { msg: 'workers started', workers: count }), count > 1 ? 1 : 0)
  t.equal((await svc.stop()).code, 0)
  const group = limitedGroup(t)
  if (group === null) return t.comment('cannot create a control group here')
  const enter = join(cwd, 'enter.mjs')
  writeFileSync(enter, `import { writeFileSync } from 'node:fs'\nwriteFileSync('${group}', String(process.pid))\n`)
  const limited = await startMain(t, { cwd, env: { ...env, NODE_OPTIONS: `--import=${enter}` } })
  t.equal((await sendRequest(limited.url, { url: '/health/ready' })).statusCode, 200)
  t.notMatch(limited.stdout(), '"worker":1', 'one process is enough for one CPU')
  t.equal((await limited.stop()).code, 0)
})
