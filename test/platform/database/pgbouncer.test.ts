// engine: postgresql
import pg from 'pg'
import t from 'tap'
import { type Database, openDatabase } from '../../../src/platform/database/database.ts'
import { isUnavailable } from '../../../src/platform/database/unavailable.ts'
import { registration, visitor } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { codeFlow, oauthSettings, Person, refresh, token } from '../../support/oauth.ts'
import { hasPgbouncer, startPgbouncer } from '../../support/pgbouncer.ts'
import { createTestDatabase } from '../../support/postgresql.ts'
import { startPostgresql } from '../../support/postgresql-server.ts'
import { runMain } from '../../support/process.ts'
import { until } from '../../support/until.ts'

const withoutStatements = { prepared_statements: false }

const rowsOf = async (url: string, sql: string) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(sql).finally(() => client.end())
  return rows
}

t.test('migrates and serves every request over two connections in transaction mode', async (t) => {
  if (!hasPgbouncer(t)) return
  const direct = await createTestDatabase({ bare: true })
  t.teardown(direct.drop)
  const { url } = await startPgbouncer(t, direct.url)
  let applied = 0
  const count = ({ migrations = 0 }: { migrations?: number }) => {
    applied += migrations
  }
  const logger = { info: count, warn: () => {} }
  const open = () => openDatabase({ engine: 'postgresql', url, logger, ...withoutStatements })
  const opened: Database[] = await Promise.all([open(), open(), open()])
  await Promise.all(opened.map((database) => database.close()))
  const recorded = await rowsOf(direct.url, 'SELECT migration_name FROM _prisma_migrations')
  t.equal(applied, recorded.length, 'each migration ran once')
  // The view shows the locks of every database of the server, also of those that other tests use.
  const locks =
    "SELECT * FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND datname = current_database()"
  t.same(await rowsOf(direct.url, locks), [], 'no lock is left')

  const settings = {
    ...oauthSettings,
    database: withoutStatements,
    rate_limits: { register: null, login_address: null },
  }
  const svc = await buildTestApp(t, { settings, database: { url } })
  const person = await visitor(svc)
  t.equal((await person.post('/register', registration('grace@example.com'))).statusCode, 201)
  t.equal((await person.get('/user/sessions')).statusCode, 200)

  const flow = async () => {
    const { email } = await svc.createUser()
    const { refresh_token } = await codeFlow(svc, new Person(svc, email), 'web', { scope: 'openid orders:read' })
    t.equal((await refresh(svc, 'web', refresh_token)).statusCode, 200)
    t.equal((await token(svc, 'machine', { grant_type: 'client_credentials' })).statusCode, 200)
  }
  const device = async () => {
    const { email } = await svc.createUser()
    const issued = await svc.bearer(null, 'POST', '/svc/token', {
      email,
      password: 'correct horse',
      device_name: 'Phone',
    })
    t.equal(issued.statusCode, 200)
    const { token: secret } = issued.json()
    t.equal((await svc.bearer(secret, 'GET', '/api/user')).statusCode, 200)
    t.equal((await svc.bearer(secret, 'DELETE', '/api/tokens/current')).statusCode, 200)
    t.equal((await svc.bearer(secret, 'GET', '/api/user')).statusCode, 401)
  }
  await Promise.all([1, 2, 3, 4].flatMap(() => [flow(), device(), device(), device(), device(), device()]))
  t.notMatch(svc.logs.join(''), /"level":"(error|fatal)"/, 'no internal error was logged')
  const servers = await rowsOf(
    direct.url,
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'svc%'",
  )
  t.ok(servers.length <= 2, `${servers.length} connections to PostgreSQL`)
  t.same(await rowsOf(url, 'SELECT name FROM pg_prepared_statements'), [], 'no statement is left behind')
})

t.test('refuses to start with prepared statements behind a pooler that loses them', async (t) => {
  if (!hasPgbouncer(t)) return
  const direct = await createTestDatabase()
  t.teardown(() => direct.release())
  const { url } = await startPgbouncer(t, direct.url)
  await rowsOf(url, 'SELECT 1')
  const env = { DATABASE_URL: url, SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long' }
  const { code, stderr } = await runMain(t, { env })
  t.equal(code, 1)
  t.match(stderr, /transaction mode.*Set database\.prepared_statements to false, or use PgBouncer 1\.21/)

  for (const size of [1, 3]) {
    const { url: session } = await startPgbouncer(t, direct.url, { mode: 'session', size })
    await t.resolves(
      openDatabase({ engine: 'postgresql', url: session, connections: 1 }).then((database) => database.close()),
      `session mode with ${size} connections keeps them`,
    )
  }
})

t.test('treats a pooler without a server as an outage', async (t) => {
  if (!hasPgbouncer(t)) return
  const server = await startPostgresql()
  t.teardown(server.stop)
  const { url } = await startPgbouncer(t, server.url)
  const database = await openDatabase({ engine: 'postgresql', url, ...withoutStatements })
  t.teardown(() => database.close())
  await server.halt()
  await until(async () => {
    const error = await database.ping().catch((reason: unknown) => reason)
    t.ok(isUnavailable(error), String(error))
    return /server_login_retry/.test(String(error))
  })
  await server.restart()
  await until(() =>
    database.ping().then(
      () => true,
      () => false,
    ),
  )
})
