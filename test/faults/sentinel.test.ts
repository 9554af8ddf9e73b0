// engine: postgresql
import t from 'tap'
import { pingRedis } from '../../src/platform/database/redis.ts'
import { buildTestApp } from '../support/app.ts'
import { oauthSettings, Person, redeem, request, response } from '../support/oauth.ts'
import { freePort } from '../support/port.ts'
import { hasRedis, startSentinels } from '../support/redis.ts'
import { stopTime } from '../support/time.ts'
import { until } from '../support/until.ts'

t.test('follows Redis Sentinel to the new primary when the primary hangs', async (t) => {
  if (!hasRedis(t)) return
  const site = await startSentinels(t)
  const settings = { ...oauthSettings, redis: { ...site.settings, timeout: '1s' } }
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const codeFor = async () => {
    const stop = await person.allow(request('web', { scope: 'openid orders:read' }))
    return { code: response(stop).code, status: stop.answer.statusCode }
  }
  const redis = () => svc.config.current().redis
  await t.resolves(pingRedis(redis()))
  await t.rejects(
    pingRedis({ ...redis(), sentinels: [`127.0.0.1:${await freePort()}`] }),
    /No sentinel can be used: .*ECONNREFUSED/,
  )
  await t.rejects(pingRedis({ ...redis(), sentinel_password: 'wrong' }), 'the password of the sentinels is used')

  const before = await codeFor()
  t.equal((await redeem(svc, 'web', before.code ?? '')).statusCode, 200)
  const first = await site.port()
  site.primary.freeze()
  const statuses = new Set<number>()
  await until(async () => {
    const { code, status } = await codeFor()
    if (code === undefined) statuses.add(status)
    return code !== undefined
  })
  t.same([...statuses], [503], 'other answers during the failover')
  t.not(await site.port(), first)

  const code = (await codeFor()).code ?? ''
  site.primary.thaw()
  const answers = await Promise.all([1, 2, 3, 4].map(() => redeem(svc, 'web', code)))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1, 'the code is accepted once')
  t.equal((await redeem(svc, 'web', before.code ?? '')).statusCode, 400, 'a code that the former primary consumed')
  t.equal((await svc.app.inject('/health/ready')).statusCode, 200)
  t.notMatch(svc.logs.join(''), /"level":"(error|fatal)"/, 'a failover causes no internal error')
})
