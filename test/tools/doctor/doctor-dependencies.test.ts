import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { createTestDatabase } from '../../support/postgresql.ts'
import { freePort, runCli, startMain, temporaryDirectory } from '../../support/process.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'
import { SmtpReceiver } from '../../support/smtp.ts'

/** Runs the command with a configuration, for a deployment that does not answer. */
async function examine(t: Test, settings: object | string, env: Record<string, string> = {}) {
  const cwd = temporaryDirectory(t)
  mkdirSync(join(cwd, 'mails'))
  writeFileSync(join(cwd, 'svc.yaml'), typeof settings === 'string' ? settings : stringify(settings))
  const ended = await runCli(['doctor', '--config=svc.yaml', '--json'], { cwd, env })
  const checks: { check: string; status: string; message: string; key: string | null }[] = JSON.parse(
    ended.stdout,
  ).checks
  return { ...ended, of: (name: string) => checks.find(({ check }) => check === name) }
}

const dead = async () => ({ app: { url: `http://127.0.0.1:${await freePort()}` } })

t.test('checks the database, without changing it', async (t) => {
  const database = await createTestDatabase()
  t.teardown(database.drop)
  const settings = { ...(await dead()), database: { url: database.url } }
  t.match((await examine(t, settings)).of('database'), { status: 'ok', message: /its schema is current/ })
  const opened = await openDatabase({ ...database, file: undefined })
  t.teardown(() => opened.close())
  await opened.prisma.$executeRawUnsafe(
    'DELETE FROM _prisma_migrations WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations)',
  )
  const pending = { status: 'warning', message: 'Pending migrations: 1. svc applies them when it starts.' }
  t.match((await examine(t, settings)).of('database'), pending)
  t.match((await examine(t, settings)).of('database'), pending, 'nothing was migrated')
  const missing = await examine(t, { ...settings, database: { url: 'file:missing.db' } })
  t.match(missing.of('database'), { status: 'warning', message: /does not exist yet/ })
})

t.test('reports a database that cannot be used, and keeps its password secret', async (t) => {
  const url = `postgresql://svc:hidden-password@127.0.0.1:${await freePort()}/svc`
  const { of, code, stdout } = await examine(t, { ...(await dead()), database: { url } })
  t.match(of('database'), { status: 'error', message: /ECONNREFUSED/, key: 'database.url' })
  t.equal(code, 1)
  t.notMatch(stdout, /hidden-password/)
})

t.test('checks Redis', async (t) => {
  const url = `redis://:hidden-password@127.0.0.1:${await freePort()}`
  const { of, stdout } = await examine(t, { ...(await dead()), redis: { url } })
  t.match(of('redis'), { status: 'error', message: /ECONNREFUSED/, key: 'redis.url' })
  t.notMatch(stdout, /hidden-password/)
  t.match((await examine(t, await dead())).of('redis'), { status: 'skipped' })
  if (!hasRedis(t)) return
  const redis = await startRedis(t)
  t.match((await examine(t, { ...(await dead()), redis: { url: redis.url } })).of('redis'), { status: 'ok' })
})

t.test('checks the mail server without sending a mail', async (t) => {
  const receiver = await SmtpReceiver.start({
    onAuth: ({ password }, _session, done) =>
      password === 'right' ? done(null, { user: 'svc' }) : done(new Error('535 hidden-password is wrong')),
  })
  t.teardown(() => receiver.close())
  const mail = async (url: string) => examine(t, { ...(await dead()), mail: { url } })
  const address = `127.0.0.1:${receiver.port}`
  t.match((await mail(`smtp://svc:right@${address}`)).of('mail'), { status: 'ok', message: /and the credentials/ })
  t.match((await mail(`smtp://${address}`)).of('mail'), { status: 'ok' })
  const wrong = await mail(`smtp://svc:hidden-password@${address}`)
  t.match(wrong.of('mail'), { status: 'error', key: 'mail.url' })
  t.notMatch(wrong.stdout, /hidden-password/)
  t.match((await mail(`smtp://127.0.0.1:${await freePort()}`)).of('mail'), { status: 'error', message: /ECONNREFUSED/ })
  t.match((await mail(`smtps://${address}`)).of('mail'), { status: 'error' })
  t.match((await mail('log:')).of('mail'), { status: 'warning' })
  t.match((await mail('file:mails')).of('mail'), { status: 'warning' })
  t.match((await mail('file:missing/mails')).of('mail'), { status: 'warning' }, 'svc creates it with the first mail')
  t.match((await mail('file:svc.yaml/mails')).of('mail'), { status: 'error', message: /ENOTDIR/ })
  t.strictSame(receiver.mails, [])
})

t.test('checks which proxies are trusted', async (t) => {
  const url = `https://127.0.0.1:${await freePort()}`
  const trust = async (trust_proxy: string[]) =>
    (await examine(t, { app: { url, environment: 'development' }, server: { trust_proxy } })).of('trust')
  t.match(await trust([]), { status: 'warning', key: 'server.trust_proxy' })
  t.match(await trust(['10.0.0.0/8']), { status: 'ok' })
  t.match(await trust(['10.0.0.0/8', '::/0']), { status: 'error', message: /^::\/0 trusts every address/ })
})

t.test('reports an invalid configuration with its lines', async (t) => {
  const { of, code, stdout } = await examine(t, 'app:\n  nmae: x\nserver: { port: -1 }\n')
  t.match(of('configuration'), { status: 'error', message: /svc\.yaml:2: app\.nmae/ })
  t.match(stdout, /svc\.yaml:3: server\.port/)
  t.equal(code, 1)
})

t.test('ends with 0 where it finds only what it calls expected', async (t) => {
  const cwd = temporaryDirectory(t)
  const port = await freePort()
  const settings = {
    app: { url: `http://127.0.0.1:${port}` },
    server: { port, trust_proxy: ['127.0.0.0/8'] },
    mail: { url: 'file:mails' },
  }
  writeFileSync(join(cwd, 'svc.yaml'), stringify(settings))
  const database = await createTestDatabase()
  t.teardown(database.drop)
  const env = { SVC_CONFIG: 'svc.yaml', DATABASE_URL: database.url, PORT: String(port) }
  await startMain(t, { cwd, env })
  const ended = await runCli(['doctor', '--config=svc.yaml', '--json'], { cwd, env })
  const { checks } = JSON.parse(ended.stdout)
  const proxy = checks.find(({ check }: { check: string }) => check === 'proxy')
  t.match(proxy, { status: 'warning', message: /as expected\. Run the command on another machine/ })
  t.equal(ended.code, 0, ended.stdout)
  const outside = await runCli(['doctor', `http://127.0.0.1:${port}`, '--json'], { cwd, env })
  t.equal(outside.code, 1, 'without the configuration, it may be a real problem')
})
