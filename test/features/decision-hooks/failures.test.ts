import t, { type Test } from 'tap'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { buildTestApp, testConfig } from '../../support/app.ts'
import { runCommandOn } from '../../support/command.ts'
import { Scrape } from '../../support/metrics.ts'
import { freePort } from '../../support/port.ts'
import { stopTime } from '../../support/time.ts'
import { until } from '../../support/until.ts'
import { hooked, type Service, secret, startService } from './policy.ts'

const unlimited = { login: null, login_address: null, register: null }

const build = (t: Test, service: Service, more: object = {}, settings: object = {}) =>
  buildTestApp(t, {
    settings: { rate_limits: unlimited, ...hooked(service, { before_sign_in: more }), ...settings },
    clock: stopTime(t),
  })

/** Signs in from a new browser; returns the status. */
const signIn = async (svc: Awaited<ReturnType<typeof build>>, email: string): Promise<number> =>
  (await svc.browser().signIn(email)).statusCode

t.test('refuses with 503 without an answer in time, or goes on where the configuration allows it', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service, { timeout: '1s' })
  const { email } = await svc.createUser()
  service.answer = () => ({ body: '{}', after: new Promise(() => {}) })
  const answer = await svc.browser().signIn(email)
  t.equal(answer.statusCode, 503)
  t.match(answer.json(), { code: 'unavailable' })
  t.equal(answer.headers['retry-after'], '5')
  t.ok(svc.logs.some((line) => line.includes('hook:before_sign_in does not work: no answer within 1s')))
  t.equal(await svc.database.prisma.session.count({ where: { userId: { not: null } } }), 0)

  const lenient = await build(t, service, { timeout: '1s', on_failure: 'allow' })
  const other = await lenient.createUser()
  t.equal(await signIn(lenient, other.email), 200)
  service.answer = () => ({ deny: {} })
  t.equal(await signIn(lenient, other.email), 422, 'an answer counts again')
})

t.test('calls a hook that gives no answer no more for a while, then tries again', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service, { on_failure: 'allow' })
  const { email } = await svc.createUser()
  const dropped = () => ({ body: '', isDropped: true as const })
  service.answer = () => ({ status: 500, body: '' })
  for (let n = 0; n < 6; n++) t.equal(await signIn(svc, email), 200)
  service.answer = dropped
  for (let n = 0; n < 4; n++) t.equal(await signIn(svc, email), 200)
  service.answer = () => ({ deny: {} })
  t.equal(await signIn(svc, email), 422, 'prompt answers do not count, however wrong')
  service.answer = dropped
  for (let n = 0; n < 5; n++) t.equal(await signIn(svc, email), 200)
  service.asked()
  service.answer = () => ({ deny: {} })
  t.equal(await signIn(svc, email), 200)
  t.strictSame(service.asked(), [], 'the breaker is open')
  await until(async () => (await signIn(svc, email)) === 422)
  t.equal(await signIn(svc, email), 422)
  t.ok(svc.logs.some((line) => line.includes('hook:before_sign_in works again')))
})

t.test('keeps its connections, and survives those that the service closes', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  const { email } = await svc.createUser()
  for (let n = 0; n < 5; n++) t.equal(await signIn(svc, email), 200)
  t.equal(service.connections, 1)
  service.closeConnections()
  t.equal(await signIn(svc, email), 200)
  t.equal(service.asked().length, 6)
})

t.test('calls no private network that outbound.allow_private does not list, and follows no redirect', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service, {}, { outbound: {} })
  const { email } = await svc.createUser()
  t.equal(await signIn(svc, email), 503)
  t.strictSame(service.asked(), [])
  t.ok(svc.logs.some((line) => line.includes('list its network in outbound.allow_private')))
})

t.test('follows a reload without breaking the question that waits', async (t) => {
  const [before, after] = [await startService(t), await startService(t)]
  const svc = await build(t, before)
  const { email } = await svc.createUser()
  const decision = Promise.withResolvers<void>()
  before.answer = () => ({ body: '{}', after: decision.promise })
  const waiting = signIn(svc, email)
  await until(() => before.questions.length === 1)
  const next = testConfig({ rate_limits: unlimited, ...hooked(after, { before_sign_in: {} }) })
  svc.config.swap(next.current())
  t.equal(await signIn(svc, email), 200)
  t.strictSame(after.asked(), ['before_sign_in'])
  decision.resolve()
  t.equal(await waiting, 200)
  svc.config.swap(testConfig({ rate_limits: unlimited }).current())
  t.equal(await signIn(svc, email), 200)
  t.strictSame(after.asked(), [], 'without the section')
})

t.test('measures the answers', async (t) => {
  const [service, port] = [await startService(t), await freePort()]
  const svc = await build(t, service, {}, { metrics: { port }, server: { host: '127.0.0.1' } })
  const { email } = await svc.createUser()
  await signIn(svc, email)
  service.answer = () => ({ deny: {} })
  await signIn(svc, email)
  service.answer = () => ({ status: 500, body: '' })
  await signIn(svc, email)
  const { text } = await Scrape.of(port)
  for (const outcome of ['allowed', 'denied', 'failed']) {
    t.match(text, `svc_hook_duration_seconds_count{hook="before_sign_in",outcome="${outcome}"} 1`)
  }
  t.match(text, 'svc_logins_total{channel="login",outcome="failed"} 1')
  t.match(text, 'svc_dependency_up{dependency="hook:before_sign_in"} 0')
})

t.test('tests the hooks of the configuration by command', async (t) => {
  const service = await startService(t)
  const hooks = { before_registration: {}, before_sign_in: {}, before_token: { claims: ['tier'] } }
  const svc = await buildTestApp(t, { settings: hooked(service, hooks), clock: stopTime(t) })
  const { email } = await svc.createUser()
  service.answer = ({ type }) =>
    ({ before_registration: { deny: { message: 'Members only.' } }, before_token: { claims: { tier: 'gold' } } })[
      type
    ] ?? { require: 'second_factor' }
  const lines = (await runCommandOn(svc, 'hook:test', `--email=${email}`)).map((line) => JSON.parse(line))
  t.match(lines, [
    { hook: 'before_registration', result: 'deny', ms: Number, details: 'Members only.' },
    { hook: 'before_sign_in', result: 'allow', ms: Number, details: 'requires a second factor' },
    { hook: 'before_token', result: 'allow', ms: Number, details: 'claims {"tier":"gold"}' },
  ])
  t.strictSame(
    service.questions.map(({ test }) => test),
    [true, true, true],
  )
  t.equal(service.questions[1]?.data.user.email, email)
  t.equal((await runCommandOn(svc, 'hook:test', 'before_token')).length, 1)
  service.answer = () => ({ status: 500, body: '' })
  await t.rejects(runCommandOn(svc, 'hook:test', 'before_token'), /Without a valid answer: before_token/)
  await t.rejects(
    runCommandOn(svc, 'hook:test', 'before_logout'),
    /before_logout is not a hook. The hooks are: before_reg/,
  )
  await t.rejects(runCommandOn(svc, 'hook:test', '--email=nobody@example.com'), /No user has the address/)
  const none = await buildTestApp(t)
  await t.rejects(runCommandOn(none, 'hook:test'), /The configuration has no hooks/)
  await t.rejects(runCommandOn(none, 'hook:test', 'before_token'), /has no hook hooks.before_token/)
})

t.test('reports mistakes in the section', async (t) => {
  const problems = (before_token: object, more: object = {}) => {
    try {
      parseConfig({
        text: JSON.stringify({ app: { environment: 'development' }, hooks: { before_token }, ...more }),
        file: 'svc.yaml',
        env: {},
        cwd: '/',
      })
      return ''
    } catch (error) {
      return String(error)
    }
  }
  const valid = { url: 'https://hooks.example/svc', secret }
  t.equal(problems(valid), '')
  t.match(problems({ url: valid.url }), /secret/)
  t.match(problems({ ...valid, secret: 'whsec_short' }), /whsec_ and the base64/)
  t.match(problems({ ...valid, timeout: '30s' }), /at most 10s/)
  t.match(problems({ ...valid, on_failure: 'ask' }), /allow, deny|allow or deny/)
  t.match(problems({ ...valid, claims: ['sub'] }), /must not be sub, which is reserved/)
  const fields = { users: { fields: { team: { schema: { type: 'string' }, claim: 'team' } } } }
  t.match(problems({ ...valid, claims: ['team'] }, fields), /the claim of a field in users.fields/)
  const production = { app: { environment: 'production', url: 'https://id.example.com' } }
  t.match(problems({ ...valid, url: 'http://hooks.example/svc' }, production), /must use https in production/)
  t.match(problems({ ...valid, secret: 'password' }, production), /must be random/)
})
