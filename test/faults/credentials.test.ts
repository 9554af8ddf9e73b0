// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import t from 'tap'
import { stringify } from 'yaml'
import { ada } from '../support/listening.ts'
import { startPostgresql } from '../support/postgresql-server.ts'
import { freePort, runCli, startMain, temporaryDirectory } from '../support/process.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'
import { linesOf, linesWith, workersOf } from '../support/workers.ts'

t.test('uses new credentials of PostgreSQL and Redis for new connections, without a restart', async (t) => {
  if (!hasRedis(t)) return
  const server = await startPostgresql()
  t.teardown(() => server.stop())
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  t.teardown(() => admin.end())
  await admin.query(`CREATE ROLE svc LOGIN PASSWORD 'first'`)
  await admin.query('CREATE DATABASE svc OWNER svc')
  const { rows } = await admin.query('SHOW hba_file')
  writeFileSync(rows[0].hba_file, 'host all svc all scram-sha-256\nhost all postgres all trust\n')
  await admin.query('SELECT pg_reload_conf()')
  const redis = await startRedis(t, ['--requirepass', 'first'])

  const cwd = temporaryDirectory(t)
  const [databaseFile, redisFile] = [join(cwd, 'database-url'), join(cwd, 'redis-url')]
  const writeUrls = (password: string, name = 'svc') => {
    writeFileSync(databaseFile, `postgresql://svc:${password}@127.0.0.1:${server.port}/${name}\n`)
    writeFileSync(redisFile, redis.url.replace('redis://', `redis://:${password}@`))
  }
  writeUrls('first')
  const port = await freePort()
  const settings = {
    app: { url: `http://localhost:${port}`, secret: 'the-secret-of-the-tests-is-32-bytes-long' },
    server: { workers: 2 },
    database: { url: { file: databaseFile } },
    redis: { url: { file: redisFile } },
    rate_limits: { global: '10000/1m', login: '10000/1m' },
  }
  writeFileSync(join(cwd, 'svc.yaml'), stringify(settings))
  const env = { SVC_CONFIG: 'svc.yaml', PORT: String(port) }
  const create = ['user:create', `--email=${ada.email}`, '--name=Ada', '--verified']
  t.match(await runCli(create, { cwd, env, input: `${ada.password}\n` }), { code: 0 })
  const svc = await startMain(t, { cwd, env })
  await until(() => workersOf(svc).length === 2)
  const payload = { ...ada, device_name: 'Phone' }
  const signIn = async () => (await sendRequest(svc.url, { method: 'POST', url: '/svc/token', payload })).statusCode
  t.equal(await signIn(), 200)

  await admin.query(`ALTER ROLE svc PASSWORD 'second'`)
  const operator = new Redis(redis.url, { password: 'first' })
  t.teardown(() => operator.disconnect())
  await operator.config('SET', 'requirepass', 'second')
  writeUrls('second')
  const reloaded = 'configuration reloaded'
  await until(() => [1, 2].every((worker) => linesWith(svc, { worker, msg: reloaded }) > 0))
  const changed = linesOf(svc).filter(({ msg }) => msg === reloaded)
  t.match(changed, Array(2).fill({ changed: ['database.url', 'redis.url'] }))
  t.notMatch(svc.stdout(), /restart required/)
  t.notMatch(svc.stdout(), /second@/, 'no line has the password')

  await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'svc'`)
  await operator.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await until(async () => (await signIn()) === 200)
  const clients = async () => String(await operator.client('LIST')).match(/name=|id=/g)?.length ?? 0
  await until(async () => (await clients()) > 2)
  const [first = 0] = workersOf(svc)
  process.kill(first, 'SIGKILL')
  await until(() => workersOf(svc).length === 2 && !workersOf(svc).includes(first))
  const listens = () => linesOf(svc).filter(({ msg }) => msg?.startsWith('listening on')).length
  await until(() => listens() === 3)
  for (let n = 0; n < 6; n++) t.equal(await signIn(), 200, 'the new worker uses the new password too')
  t.notMatch(svc.stdout(), /password authentication failed|WRONGPASS/)

  writeUrls('second', 'another')
  await until(() => /restart required for database\.url/.test(svc.stdout()))
  t.equal((await svc.stop()).code, 0)
})
