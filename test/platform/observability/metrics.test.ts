import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { buildTestApp, type Settings } from '../../support/app.ts'
import { Scrape } from '../../support/metrics.ts'
import { basic, oauthSettings, post } from '../../support/oauth.ts'
import { testEngine } from '../../support/postgresql.ts'
import { freePort, temporaryDirectory } from '../../support/process.ts'
import { challenged, enableTwoFactor } from '../../support/totp.ts'

// This test hashes passwords.
/** svc with its metrics, and their output. */
async function measured(t: Test, settings: Settings = {}) {
  const port = await freePort()
  const svc = await buildTestApp(t, { settings: { metrics: { port }, server: { host: '127.0.0.1' }, ...settings } })
  const device = (email: string, proof: object = {}) =>
    svc.app.inject({
      method: 'POST',
      url: '/svc/token',
      payload: { email, password: 'correct horse', device_name: 'Phone', ...proof },
    })
  const count = async (name: string, labels?: Record<string, string>) => (await Scrape.of(port)).value(name, labels)
  return { ...svc, port, device, count, scrape: () => Scrape.of(port) }
}

t.test('counts answers by route pattern, and paths without a route under one name', async (t) => {
  const svc = await measured(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  for (let times = 0; times < 3; times++) await svc.bearer(token, 'GET', '/api/user')
  await svc.bearer('1|wrong', 'GET', '/api/user')
  await svc.bearer(token, 'DELETE', '/api/tokens/987654')
  for (const path of ['/a', '/b?c=hidden', '/api/tokens/1/2/3', '/%7C']) await svc.bearer(null, 'GET', path)
  await svc.app.inject({ method: 'OPTIONS', url: '/nowhere', headers: { origin: 'http://localhost:5173' } })
  await svc.app.inject({ method: 'PATCH', url: '/health/live' })
  const found = await svc.scrape()
  const name = 'svc_http_request_duration_seconds'
  const answers = (labels: Record<string, string>) => found.value(`${name}_count`, labels)
  t.equal(answers({ method: 'GET', route: '/api/user', status: '200' }), 3)
  t.equal(answers({ method: 'GET', route: '/api/user', status: '401' }), 1)
  t.equal(answers({ route: '/api/tokens/:id', status: '404' }), 1, 'a missing record counts for its route')
  t.equal(answers({ route: 'none', status: '404' }), 4)
  t.equal(answers({ route: '/health/live', status: '405' }), 1)
  const known = ['/api/tokens/:id', '/api/user', '/health/live', 'none']
  t.same(found.valuesOf(`${name}_count`, 'route'), known)
  t.notMatch(found.text, /987654|hidden/, 'no value of a path')
  t.equal(found.value(`${name}_bucket`, { method: 'GET', route: '/api/user', status: '200', le: '+Inf' }), 3)
  t.ok((found.value(`${name}_sum`, { route: '/api/user' }) ?? 0) > 0)
})

t.test('counts guard results, and the batch size of lookups', async (t) => {
  const svc = await measured(t, oauthSettings)
  const token = await svc.createToken(await svc.createUser())
  await svc.bearer(token, 'GET', '/api/user')
  await svc.bearer(null, 'GET', '/api/user')
  await svc.bearer('1|wrong', 'GET', '/api/user')
  await svc.bearer('a.b.c', 'GET', '/api/user')
  const issued = await post(svc, '/oauth/token', 'machine', { grant_type: 'client_credentials' })
  await svc.bearer(issued.json().access_token, 'GET', '/api/user')
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  const { email } = await svc.createUser()
  t.equal((await spa.post('/login', { email, password: 'correct horse' })).statusCode, 200)
  await spa.get('/api/user')
  const found = await svc.scrape()
  const verdicts = (family: string, verdict: string) =>
    found.value('svc_authentication_duration_seconds_count', { family, verdict })
  t.equal(verdicts('hybrid', 'api_token'), 1)
  t.equal(verdicts('hybrid', 'none'), 1)
  t.equal(verdicts('hybrid', 'invalid'), 2)
  t.equal(verdicts('hybrid', 'machine'), 1)
  t.equal(verdicts('hybrid', 'session'), 1)
  t.equal(verdicts('session', 'none'), 2, 'guests')
  t.equal(found.value('svc_lookup_duration_seconds_count', { lookup: 'token-by-id' }), 2)
  t.equal(found.value('svc_lookup_batch_size_sum', { lookup: 'token-by-id' }), 2)

  const before = found.value('svc_lookup_batch_size_count', { lookup: 'token-by-id' }) ?? 0
  const tokens = await Promise.all(Array.from({ length: 8 }, async () => svc.createToken(await svc.createUser())))
  await Promise.all(tokens.map((one) => svc.bearer(one, 'GET', '/api/user')))
  const after = await svc.scrape()
  const batches = (after.value('svc_lookup_batch_size_count', { lookup: 'token-by-id' }) ?? 0) - before
  t.ok(batches < 8, `8 keys in ${batches} queries`)
  t.equal(after.value('svc_lookup_batch_size_sum', { lookup: 'token-by-id' }), 10)
})

t.test('counts attempts to sign in by entry point and outcome', async (t) => {
  const svc = await measured(t, { rate_limits: { login: '2/1m' }, test_page: true })
  const { email } = await svc.createUser()
  const logins = (channel: string, outcome: string) => svc.count('svc_logins_total', { channel, outcome })
  t.equal((await svc.device(email)).statusCode, 200)
  t.equal(await logins('token', 'succeeded'), 1)
  t.equal(await svc.count('svc_tokens_issued_total', { kind: 'api_token', grant: 'sign_in' }), 1)
  const page = svc.browser()
  await page.get('/svc/csrf-cookie')
  await page.post('/login', { email, password: 'correct horse' })
  t.equal(await logins('login', 'succeeded'), 1)
  await page.post('/api/tokens/create', { token_name: 'x' })
  t.equal(await svc.count('svc_tokens_issued_total', { kind: 'api_token', grant: 'created' }), 1)
  const guest = svc.browser()
  const own = {
    name: 'Grace',
    email: 'grace@example.com',
    password: 'a long Password',
    password_confirmation: 'a long Password',
  }
  await guest.get('/svc/csrf-cookie')
  t.equal((await guest.post('/register', own)).statusCode, 201)
  t.equal(await logins('registration', 'succeeded'), 1)
})

t.test('failed attempts count at their entry point', async (t) => {
  const svc = await measured(t, { rate_limits: { login: '2/1m' } })
  const { email } = await svc.createUser()
  for (const status of [422, 422, 429]) t.equal((await svc.device(email, { password: 'wrong' })).statusCode, status)
  // Failures are recorded after their answer.
  const written = async (outcome: string, times: number) => {
    while ((await svc.count('svc_logins_total', { channel: 'token', outcome })) !== times) await turn()
  }
  await written('failed', 2)
  await written('locked_out', 1)
  t.equal(await svc.count('svc_logins_total', { channel: 'token', outcome: 'limited' }), 1)
  t.equal(await svc.count('svc_security_events_total', { event: 'login_failed' }), 2)
  t.equal(await svc.count('svc_hashing_duration_seconds_count'), 2, 'a limited attempt costs no hashing')
  t.ok(((await svc.count('svc_hashing_duration_seconds_sum')) ?? 0) > 0)

  const ada = await enableTwoFactor(svc)
  const spa = await challenged(svc, ada.email)
  const logins = (channel: string, outcome: string) => svc.count('svc_logins_total', { channel, outcome })
  t.equal(await logins('login', 'second_factor_needed'), 1)
  t.equal((await spa.post('/two-factor-challenge', { code: ada.wrong() })).statusCode, 422)
  t.equal(await logins('challenge', 'second_factor_failed'), 1)
  const before = (await logins('login', 'succeeded')) ?? 0
  t.equal((await spa.post('/two-factor-challenge', { code: ada.code() })).statusCode, 204)
  t.equal(await logins('login', 'succeeded'), before + 1, 'at the channel where it began')
  t.equal((await svc.device(ada.email)).statusCode, 422)
  t.equal(await logins('token', 'second_factor_needed'), 1)
})

t.test('counts issued tokens by kind and grant, and rejections by error', async (t) => {
  const svc = await measured(t, oauthSettings)
  const issued = (kind: string, grant: string) => svc.count('svc_tokens_issued_total', { kind, grant })
  await post(svc, '/oauth/token', 'machine', { grant_type: 'client_credentials' })
  t.equal(await issued('access_token', 'client_credentials'), 1)
  t.equal(await issued('refresh_token', 'client_credentials'), null)
  const refused = (grant: string, error: string) => svc.count('svc_token_requests_refused_total', { grant, error })
  await post(svc, '/oauth/token', 'web', { grant_type: 'authorization_code', code: 'x', redirect_uri: 'http://x' })
  t.equal(await refused('authorization_code', 'invalid_grant'), 1)
  for (const grant of ['anything', 'at-all']) await post(svc, '/oauth/token', 'web', { grant_type: grant })
  t.equal(await refused('unknown', 'unsupported_grant_type'), 2, 'no name of the client becomes a label')
  const headers = { ...basic('web', 'wrong'), 'content-type': 'application/x-www-form-urlencoded' }
  await svc.app.inject({ method: 'POST', url: '/oauth/token', headers, payload: 'grant_type=refresh_token' })
  t.equal((await svc.scrape()).value('svc_token_requests_refused_total', { error: 'invalid_client' }), 1)

  const { email } = await svc.createUser()
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  await spa.post('/login', { email, password: 'correct horse' })
  t.equal((await spa.post('/oauth/token/fresh')).statusCode, 200)
  t.equal((await spa.post('/oauth/personal-access-tokens', { name: 'x', scopes: [] })).statusCode, 200)
  t.equal(await issued('access_token', 'first_party'), 1)
  t.equal(await issued('access_token', 'personal'), 1)
})

t.test('reads queue lengths, pool use and ages on each scrape', async (t) => {
  const svc = await measured(t, { mail: { url: 'smtp://127.0.0.1:1' } })
  const first = await svc.scrape()
  const pools = testEngine === 'postgresql' ? ['lookups', 'main'] : []
  t.same(first.valuesOf('svc_database_connections', 'pool'), pools)
  t.same(first.valuesOf('svc_database_waiting', 'pool'), pools)
  t.equal(first.value('svc_database_up'), 1)
  t.equal(first.value('svc_hashing_queue'), 0)
  t.equal(first.value('svc_outbox_entries', { kind: 'mail', state: 'pending' }), 0)
  t.equal(first.value('svc_outbox_oldest_age_seconds', { kind: 'mail' }), 0)
  const { version } = JSON.parse((await svc.app.inject('/openapi.json')).body).info
  t.equal(first.value('svc_build_info', { version, database: testEngine }), 1)
  for (const name of ['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds', 'process_cpu_seconds_total'])
    t.ok(first.value(name) !== null, name)
  t.same(first.valuesOf('svc_signing_key_age_seconds', 'algorithm'), ['ES256', 'EdDSA', 'RS256'])

  await svc.database.transaction((tx) => svc.app.outbox.add(tx, 'mail', {}))
  const row = await svc.database.prisma.outbox.findFirstOrThrow()
  svc.clock.advance(90_000)
  const later = await svc.scrape()
  t.equal(later.value('svc_outbox_entries', { kind: 'mail', state: 'pending' }), 1)
  t.equal(later.value('svc_outbox_oldest_age_seconds', { kind: 'mail' }), 90)
  const age = (scrape: Scrape) => scrape.value('svc_signing_key_age_seconds', { algorithm: 'ES256' }) ?? 0
  t.equal(Math.round(age(later) - age(first)), 90)
  await svc.database.prisma.outbox.updateMany({ where: { id: row.id }, data: { failedAt: new Date(svc.clock.now()) } })
  const lost = await svc.scrape()
  t.equal(lost.value('svc_outbox_entries', { kind: 'mail', state: 'pending' }), 0)
  t.equal(lost.value('svc_outbox_entries', { kind: 'mail', state: 'failed' }), 1)
})

// SQLite answers or fails immediately.
if (testEngine === 'postgresql') {
  t.test('serves the other metrics while the database hangs', async (t) => {
    const svc = await measured(t, { audit: { export: `file:${join(temporaryDirectory(t), 'events.jsonl')}` } })
    await svc.bearer(null, 'GET', '/health/live')
    const { pg } = svc.database
    const other = await pg?.connect()
    t.teardown(() => other?.release())
    await other?.query('BEGIN; LOCK TABLE outbox, events')
    const found = await svc.scrape()
    t.ok(pg && pg.totalCount - pg.idleCount > 2, 'the queries still wait')
    t.equal(found.value('svc_event_export_pending'), null)
    t.equal(found.value('svc_database_up'), 0)
    t.equal(found.value('svc_outbox_entries'), null)
    t.equal(found.value('svc_http_request_duration_seconds_count', { route: '/health/live' }), 1)
    await other?.query('ROLLBACK')
    t.equal((await svc.scrape()).value('svc_database_up'), 1)
  })
}

t.test('serves the other metrics while the database is unavailable', async (t) => {
  const svc = await measured(t)
  await svc.bearer(null, 'GET', '/health/live')
  await svc.scrape()
  await svc.database.prisma.$executeRawUnsafe('ALTER TABLE outbox RENAME TO outbox_away')
  const found = await svc.scrape()
  t.equal(found.value('svc_database_up'), 0)
  t.equal(found.value('svc_outbox_entries'), null, 'no value rather than an old one')
  t.equal(found.value('svc_http_request_duration_seconds_count', { route: '/health/live' }), 1)
  await svc.database.prisma.$executeRawUnsafe('ALTER TABLE outbox_away RENAME TO outbox')
})
