import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { callback, codeFlow, oauthSettings, Person, post, redeem, request, response } from '../../../support/oauth.ts'
import { hasRedis, startRedis } from '../../../support/redis.ts'
import { stopTime } from '../../../support/time.ts'

const shortLived = ['AuthorizationCode', 'DeviceCode', 'PushedAuthorizationRequest']

/** Two replicas on one database and one Redis. */
async function replicas(t: Parameters<typeof buildTestApp>[0], options = {}) {
  const redis = await startRedis(t)
  const settings = { ...oauthSettings, redis: { url: redis.url, ...options } }
  const clock = stopTime(t)
  const svc = await buildTestApp(t, { settings, clock })
  const other = await buildTestApp(t, { settings, clock, database: svc.where })
  return { redis, svc, other }
}

t.test('stores short-lived records in Redis, and accepts a code once on any replica', async (t) => {
  if (!hasRedis(t)) return
  const { svc, other } = await replicas(t)
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const { code = '' } = response(await person.allow(request('web', { scope: 'openid orders:read' })))
  const stored = await svc.database.prisma.oauthRecord.findMany({ where: { kind: { in: shortLived } } })
  t.strictSame(stored, [], 'the database has none of them')
  const answers = await Promise.all([svc, other, svc, other, other].map((each) => redeem(each, 'web', code)))
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 400, 400, 400, 400])
  t.equal((await redeem(other, 'web', code)).json().error, 'invalid_grant')
})

t.test('completes on one replica a flow that began on another', async (t) => {
  if (!hasRedis(t)) return
  const { svc, other } = await replicas(t)
  const { email } = await svc.createUser()
  const tokens = await codeFlow(svc, new Person(svc, email), 'web', { scope: 'openid email' })
  t.equal((await other.bearer(tokens.access_token, 'GET', '/api/user')).json().email, email)

  const pushed = await post(svc, '/oauth/par', 'web', { ...request('web'), redirect_uri: callback })
  t.equal(pushed.statusCode, 201, pushed.body)
  const person = new Person(other, email)
  const { request_uri } = pushed.json()
  const { code } = response(await person.allow({ client_id: 'web', request_uri }))
  t.ok(code, 'a request pushed to one is known to the other')

  const device = (await post(svc, '/oauth/device/code', 'tv', { scope: 'orders:read' })).json()
  const entry = await person.go('/oauth/device')
  const confirm = await person.press(entry, { user_code: device.user_code })
  const done = await person.decide(await person.press(confirm, { confirm: 'yes' }))
  t.equal(done.page, 'Connect a device')
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const granted = await post(svc, '/oauth/token', 'tv', { grant_type, device_code: device.device_code })
  t.equal(granted.statusCode, 200, granted.body)
})

t.test('rejects records of Redis while it is away, and uses none up', async (t) => {
  if (!hasRedis(t)) return
  const { redis, svc } = await replicas(t)
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const tokens = await codeFlow(svc, person, 'web', { scope: 'openid orders:read' })
  const { code = '' } = response(await person.allow(request('web', { scope: 'openid orders:read' })))
  await redis.stop()
  const refused = await redeem(svc, 'web', code)
  t.equal(refused.statusCode, 503, refused.body)
  t.ok(refused.headers['retry-after'])
  t.equal((await svc.bearer(tokens.access_token, 'GET', '/api/user')).statusCode, 200, 'tokens do not need it')
})

t.test('redeems a code although the process pauses for longer than the timeout of Redis', async (t) => {
  if (!hasRedis(t)) return
  const { svc } = await replicas(t, { timeout: '1s' })
  const person = new Person(svc, (await svc.createUser()).email)
  const { code = '' } = response(await person.allow(request('web', { scope: 'openid orders:read' })))
  let isDone = false
  const pause = () => {
    if (isDone) return
    // Stops the event loop between what is sent to Redis and what is read from it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100)
    setImmediate(pause)
  }
  const answer = redeem(svc, 'web', code)
  setImmediate(pause)
  const { statusCode, body } = await answer
  isDone = true
  t.equal(statusCode, 200, body)
  t.notOk(svc.logs.some((line) => line.includes('timed out')))
})
