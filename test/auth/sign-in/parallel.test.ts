import t from 'tap'
import { AttemptsInFlight } from '../../../src/auth/sign-in/attempts-in-flight.ts'
import { passwordsFrom } from '../../../src/auth/sign-in/limit-names.ts'
import { deviceSignIn } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { until } from '../../support/until.ts'

const address = '192.0.2.1'
const right = 'correct horse'

const signIn = async (svc: TestApp, email: string, password = right) =>
  (await deviceSignIn(svc, { email, password }, address)).statusCode

const times = <Value>(count: number, work: (index: number) => Promise<Value>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

t.test('accepts ten parallel sign-ins with the right password, on all replicas', async (t) => {
  const svc = await buildTestApp(t)
  const other = await buildTestApp(t, { database: svc.where, clock: svc.clock })
  const { email } = await svc.createUser()
  t.strictSame(await times(10, (n) => signIn(n % 2 ? svc : other, email)), Array(10).fill(200))
  t.equal(await signIn(svc, email, 'wrong'), 422, 'they leave no failures')
})

t.test('checks five wrong passwords among many parallel sign-ins', async (t) => {
  const svc = await buildTestApp(t)
  const other = await buildTestApp(t, { database: svc.where, clock: svc.clock })
  const { email } = await svc.createUser()
  const statuses = await times(60, (n) => signIn(n % 2 ? svc : other, email, `wrong ${n}`))
  t.equal(statuses.filter((status) => status === 422).length, 5)
  t.equal(statuses.filter((status) => status === 429).length, 55)
  t.equal(await signIn(svc, email), 429)
})

t.test('waits for attempts of another replica, and rejects when they stay', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const name = passwordsFrom(email, address)
  const rule = { max: 5, window: minute, block: 'window' } as const
  const elsewhere = () => times(5, () => svc.app.counters.hit(name, rule, svc.clock.now()))
  await elsewhere()
  let isAnswered = false
  const waiting = signIn(svc, email).finally(() => {
    isAnswered = true
  })
  await until(async () => (await svc.app.counters.blockedUntil(name, rule, svc.clock.now())) !== null)
  t.notOk(isAnswered)
  await svc.app.counters.reset(name)
  t.equal(await waiting, 200)
  await elsewhere()
  t.equal(await signIn(svc, email), 429)
})

t.test('waits only while attempts may be in flight, with a maximum for each account and address', async (t) => {
  const attempts = new AttemptsInFlight()
  const block = { max: 2, until: 1_000, now: 0 }
  t.ok(attempts.mayEnd('counter', block), 'nothing is known')
  attempts.failed('counter', 1_000, 0)
  t.ok(attempts.mayEnd('counter', block), 'another attempt may be in flight')
  attempts.failed('counter', 1_000, 0)
  t.notOk(attempts.mayEnd('counter', block), 'all of them failed')
  t.ok(attempts.mayEnd('counter', { ...block, now: 1_000 }), 'in the next window')
  attempts.failed('counter', 2_000, 1_000)
  t.ok(attempts.mayEnd('counter', { ...block, until: 2_000, now: 1_500 }), 'an earlier window no longer counts')
  attempts.restarted('counter')
  t.ok(attempts.mayEnd('counter', block), 'after a success')
  attempts.settled('counter', 1_000)
  t.notOk(attempts.mayEnd('counter', block), 'after an attempt waited for nothing')
  t.ok(attempts.mayEnd('counter', { ...block, until: 2_000 }), 'for another block')

  let looks = 0
  const open = Promise.withResolvers<boolean>()
  const wait = (account: string, from: string) =>
    attempts.wait(account, from, () => {
      looks += 1
      return open.promise
    })
  const waiting = Array.from({ length: 32 }, (_, n) => wait('ada', `192.0.2.${n}`))
  await until(() => looks === 32)
  t.equal(await wait('ada', '198.51.100.1'), false)
  t.equal(looks, 32, 'too many for the account')
  waiting.push(...Array.from({ length: 64 }, (_, n) => wait(`user ${n}`, '198.51.100.2')))
  await until(() => looks === 96)
  t.equal(await wait('bob', '198.51.100.2'), false)
  t.equal(looks, 96, 'too many from the address')
  open.resolve(true)
  await Promise.all(waiting)
  t.equal(await wait('ada', '198.51.100.2'), true)
  t.equal(looks, 97, 'places become free')
})

t.test('rejects an attempt beyond the places without ending the wait of the others', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const name = passwordsFrom(email, address)
  const rule = { max: 5, window: minute, block: 'window' } as const
  await times(5, () => svc.app.counters.hit(name, rule, svc.clock.now()))
  let looks = 0
  const { counters } = svc.app
  const { hit, hitTogether } = counters
  counters.hit = (...of) => {
    looks++
    return hit.apply(counters, of)
  }
  if (hitTogether) {
    counters.hitTogether = (...of) => {
      looks++
      return hitTogether.apply(counters, of)
    }
  }
  let rejected = 0
  const answers = times(40, async () => {
    const status = await signIn(svc, email)
    if (status === 429) rejected++
    return status
  })
  await until(() => rejected >= 8)
  // Every waiting attempt looks again.
  const after = looks + 100
  await until(() => looks >= after || rejected === 40)
  await svc.app.counters.reset(name)
  const statuses = await answers
  t.ok(statuses.includes(200))
})
