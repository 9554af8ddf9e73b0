import t from 'tap'
import { registration, strong, visitor } from '../support/accounts.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { hour, minute } from '../support/clock.ts'
import { challenged, enrol } from '../support/totp.ts'

/** The statuses of wrong passwords from ever other addresses; the same cookies come with each. */
async function spread(svc: TestApp, email: string, times: number, cookie = '') {
  const statuses: number[] = []
  for (let i = 0; i < times; i++) {
    const answer = await svc.app.inject({
      method: 'POST',
      url: '/login',
      remoteAddress: `198.51.${i >> 8}.${i & 255}`,
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
      payload: { email, password: `wrong ${i}` },
    })
    statuses.push(answer.statusCode)
  }
  return statuses
}

t.test('an account of a look-alike address forgets no failures of another, nor knows its browser', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser({ email: 'victim@example.com' })
  const own = await svc.createUser({ email: 'víctim@example.com' })
  const attacker = await visitor(svc)
  const statuses: number[] = []
  for (let i = 0; i < 8; i++) {
    statuses.push((await attacker.post('/login', { email, password: `wrong ${i}` })).statusCode)
    t.equal((await attacker.signIn(own.email)).statusCode, 200)
  }
  t.strictSame(statuses, [401, 401, 401, 401, 401, 429, 429, 429])
  t.equal((await spread(svc, email, 60, `svc_browser=${await attacker.cookie('svc_browser')}`)).at(-1), 429)
})

t.test('who only claims an address is not known as its browser', async (t) => {
  const svc = await buildTestApp(t)
  const email = 'claimed@example.com'
  const attacker = await visitor(svc)
  t.equal((await attacker.post('/register', registration(email))).statusCode, 201)
  t.equal((await attacker.signIn(email, strong)).statusCode, 200)
  t.equal(await attacker.cookie('svc_browser'), undefined)
  await svc.database.prisma.user.update({ where: { email }, data: { emailVerifiedAt: new Date(svc.clock.now()) } })
  t.equal((await attacker.signIn(email, strong)).statusCode, 200)
  const cookie = `svc_browser=${await attacker.cookie('svc_browser')}`
  t.notOk((await spread(svc, email, 60, cookie)).includes(429), 'once it is verified it is')
})

t.test('who rests from guessing codes for an hour begins not anew', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { two_factor: '1000/1m' } } })
  const ada = await enrol(svc)
  const guess = async (spa: Browser) => (await spa.post('/two-factor-challenge', { code: ada.wrong() })).statusCode
  const spa = await challenged(svc, ada.email)
  for (let i = 0; i < 49; i++) t.equal(await guess(spa), 422)
  svc.clock.advance(hour + minute)
  const later = await challenged(svc, ada.email)
  t.strictSame([await guess(later), await guess(later)], [422, 429])
  svc.clock.advance(25 * hour)
  t.strictSame([await guess(await challenged(svc, ada.email))], [422], 'a day without a guess forgets')
})
