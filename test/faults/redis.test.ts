// engine: postgresql
import { hash } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import t, { type Test } from 'tap'
import { pingRedis } from '../../src/platform/database/redis.ts'
import { newKey, proof } from '../features/oauth/clients/parties.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { oauthSettings, Person, post, redeem, request, response } from '../support/oauth.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { stopTime } from '../support/time.ts'
import { until } from '../support/until.ts'

const deviceLogin = (svc: TestApp, email: string, password: string) =>
  svc.bearer(null, 'POST', '/svc/token', { email, password, device_name: 'Phone' })

/** Two replicas. An outage of their Redis must not allow anything that is otherwise rejected. */
async function start(test: Test) {
  const redis = await startRedis(test)
  const settings = { ...oauthSettings, redis: { url: redis.url, timeout: '1s' }, rate_limits: { global: '1000/1h' } }
  const svc = await buildTestApp(test, { settings, clock: stopTime(test) })
  const other = await buildTestApp(test, { settings, database: svc.where, clock: svc.clock })
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const codeFor = async (client: string) =>
    response(await person.allow(request(client, { scope: 'openid orders:read' }))).code ?? ''
  const isThere = ({ app }: TestApp) => {
    return until(async () => app.redis?.status === 'ready' && (await app.redis.ping().catch(() => '')) === 'PONG')
  }
  const bothReachIt = () => Promise.all([svc, other].map(isThere))
  return { redis, svc, other, email, codeFor, bothReachIt }
}

t.test('answers 503 to requests that need Redis while Redis hangs, and serves all others', async (t) => {
  if (!hasRedis(t)) return
  const { redis, svc, other, email, codeFor, bothReachIt } = await start(t)
  const code = await codeFor('web')
  const { token } = (await deviceLogin(svc, email, 'correct horse')).json()
  redis.freeze()
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200)
  t.equal((await svc.app.inject('/health/ready')).statusCode, 200, 'a replica without Redis still serves requests')
  const refused = await redeem(svc, 'web', code)
  t.equal(refused.statusCode, 503)
  t.match(refused.headers['retry-after'], /^\d+$/)
  t.equal((await svc.app.inject('/oauth/device')).statusCode, 200)
  t.equal((await post(svc, '/oauth/device/code', 'tv', {})).statusCode, 503)
  const guesses = await Promise.all(
    Array.from({ length: 20 }, (_, n) => deviceLogin(n % 2 ? svc : other, email, 'wrong')),
  )
  const tried = guesses.filter(({ statusCode }) => statusCode === 422).length
  t.ok(tried <= 5, `${tried} guesses were checked`)
  t.same([...new Set(guesses.map(({ statusCode }) => statusCode))].sort(), [422, 429])
  redis.thaw()
  await bothReachIt()
  const answers = await Promise.all([svc, other, svc, other].map((each) => redeem(each, 'web', code)))
  t.ok(answers.filter(({ statusCode }) => statusCode === 200).length <= 1, 'the code is accepted at most once')
  t.equal((await redeem(svc, 'web', await codeFor('web'))).statusCode, 200, 'and everything works again')
})

t.test('rejects replayed one-time codes after Redis lost its data', async (t) => {
  if (!hasRedis(t)) return
  const { redis, svc, other, codeFor, bothReachIt } = await start(t)
  const [used, unused] = [await codeFor('web'), await codeFor('web')]
  t.equal((await redeem(svc, 'web', used)).statusCode, 200)
  const key = await newKey('ES256')
  const dpop = await proof(key, 'POST', '/oauth/token')
  const form = {
    grant_type: 'authorization_code',
    code: await codeFor('spa'),
    client_id: 'spa',
    redirect_uri: 'https://spa.example/cb',
    code_verifier: 'a-random-code-verifier-of-the-tests-0123456789',
  }
  const granted = await svc.app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: { dpop, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form).toString(),
  })
  const { access_token } = granted.json()
  const ath = hash('sha256', access_token, 'base64url')
  const call = await proof(key, 'GET', '/api/user', { ath })
  const ask = ({ app }: TestApp) =>
    app.inject({ url: '/api/user', headers: { authorization: `DPoP ${access_token}`, dpop: call } })
  t.equal((await ask(svc)).statusCode, 200)

  await redis.stop()
  await redis.start()
  await bothReachIt()
  for (const each of [svc, other]) {
    t.equal((await ask(each)).statusCode, 401, 'a proof')
    t.equal((await redeem(each, 'web', used)).statusCode, 400, 'a code')
    t.equal((await redeem(each, 'web', unused)).statusCode, 400, 'unused codes are lost too')
  }
  t.equal((await redeem(other, 'web', await codeFor('web'))).statusCode, 200)
})

/** An address of this machine that is not loopback. */
const address = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address

t.test('repeats what a Redis in protected mode says', { skip: !address && 'no network' }, async (t) => {
  if (!hasRedis(t)) return
  const redis = await startRedis(t, ['--bind', '0.0.0.0', '--protected-mode', 'yes'])
  const url = redis.url.replace('127.0.0.1', address ?? '')
  const svc = await buildTestApp(t, { settings: { redis: { url, timeout: '1s' } } })
  await until(() =>
    svc.logs.some((line) => /redis does not work: DENIED Redis is running in protected mode/.test(line)),
  )
  t.notMatch(svc.logs.join(''), /use rediss:/)
  await t.rejects(pingRedis(svc.config.current().redis), /^DENIED Redis is running in protected mode/)
})

t.test('the check of Redis writes, as svc does', async (t) => {
  if (!hasRedis(t)) return
  const full = await startRedis(t, ['--maxmemory', '1'])
  const svc = await buildTestApp(t, { settings: { redis: { url: full.url } } })
  await t.rejects(pingRedis(svc.config.current().redis), /OOM/)
})
