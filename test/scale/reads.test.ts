// engine: postgresql
// process: own
import pg from 'pg'
import t from 'tap'
import { addEnded, fillScale, prunedTables } from '../../bench/support/scale-rows.ts'
import { adminCall, adminSettings, robotToken } from '../support/admin.ts'
import { buildTestApp } from '../support/app.ts'
import { basic, secret, token } from '../support/oauth.ts'
import { createTestDatabase } from '../support/postgresql.ts'
import { stopTime } from '../support/time.ts'
import { until } from '../support/until.ts'
import { recordStatements, rowsReadBy } from './statements.ts'

const amounts = { users: 2_000, tokens: 10_000, sessions: 4_000, events: 10_000, records: 4_000 }
const ended = 1_200

/** Statements that may read a whole table, which docs/scaling.md names. */
const whole = [/lower\(email\) LIKE/]

t.test('reads and deletes a bounded number of rows per statement, however large the tables are', async (t) => {
  const { url, drop } = await createTestDatabase()
  t.teardown(drop)
  await fillScale(url, amounts, 'unused')
  for (const table of prunedTables) await addEnded(url, table, ended, amounts.users)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  const count = async (table: string) => Number((await client.query(`TABLE ${table}`)).rowCount)
  const filled = new Map<string, number>()
  for (const table of prunedTables) filled.set(table, await count(table))
  const jobs = ['prune-expired', 'prune-events', 'prune-used-once', 'prune-oauth']
  for (const name of jobs) await client.query("INSERT INTO jobs VALUES ($1, '2020-01-01')", [name])

  const recorded = recordStatements()
  t.teardown(() => void recorded())
  const svc = await buildTestApp(t, {
    settings: { ...adminSettings, expiration: '1000d' },
    database: { url },
    clock: stopTime(t),
  })
  const left = () => Promise.all(prunedTables.map(async (table) => (filled.get(table) ?? 0) - (await count(table))))
  await until(async () => (await left()).every((deleted) => deleted >= ended))

  const user = await svc.createUser({ email: 'ada@example.com' })
  const bearer = await svc.createToken(user)
  const browser = svc.browser()
  await browser.signIn(user.email, undefined, { remember: true })
  for (const path of ['/api/user', '/user/tokens', '/user/sessions', '/user/events']) {
    await svc.bearer(bearer, 'GET', path)
    await browser.get(path)
  }
  const grant = { grant_type: 'password', username: user.email, password: 'correct horse', scope: 'openid orders:read' }
  const granted = (await token(svc, 'legacy', grant)).json()
  await token(svc, 'legacy', { grant_type: 'refresh_token', refresh_token: granted.refresh_token })
  await svc.app.inject({
    method: 'POST',
    url: '/oauth/introspect',
    headers: { ...basic('watcher', secret), 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ token: granted.access_token }).toString(),
  })
  await svc.bearer(granted.access_token, 'GET', '/oauth/userinfo')
  const call = adminCall(svc, await robotToken(svc))
  for (const path of [
    '/users',
    '/users?after=1900',
    '/users?text=user19',
    '/users?text=user19&inside=true',
    '/users?email=user7@example.com',
    '/users?role=admin',
    '/users?provider=google&after=1000',
    `/users/${user.id}`,
    '/events',
    '/events?type=login',
    '/events?type=password_reset',
    '/events?user_id=7',
    '/events?client_id=client-4',
    '/events?client_id=unknown',
    '/events?since=2020-01-01T00:00:00Z&until=2020-02-01T00:00:00Z',
  ]) {
    const answer = await call('GET', path)
    t.equal(answer.statusCode, 200, `${path} ${answer.body.slice(0, 200)}`)
  }
  await call('DELETE', `/users/${user.id}`)
  await svc.app.outbox.deliverDue()
  await svc.app.outbox.state()

  const statements = recorded()
  t.ok(statements.length > 80, `${statements.length} statements`)
  for (const statement of statements) {
    if (whole.some((pattern) => pattern.test(statement.text))) continue
    t.ok(statement.rows <= 1_000, `${statement.rows} rows: ${statement.text}`)
    if (/^DELETE.*LIMIT/s.test(statement.text))
      t.match(statement.text, /ORDER BY/, 'the order of an index, not of the table')
    const read = await rowsReadBy(client, statement)
    t.ok(read <= 2_500, `reads ${read} rows: ${statement.text}`)
  }
})
