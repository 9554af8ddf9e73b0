// engine: none
import t from 'tap'
import { registration, strongPassword, visitor } from '../support/accounts.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { hour, minute } from '../support/clock.ts'
import { challenged, enableTwoFactor } from '../support/totp.ts'

/** The statuses of wrong passwords from new addresses, with the same cookies. */
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

t.test('keeps failures and known browsers of look-alike addresses separate', async (t) => {
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

t.test('does not remember a browser for an unverified address', async (t) => {
  const svc = await buildTestApp(t)
  const email = 'claimed@example.com'
  const attacker = await visitor(svc, { known: false })
  t.equal((await attacker.post('/register', registration(email))).statusCode, 201)
  t.equal((await attacker.signIn(email, strongPassword)).statusCode, 200)
  t.equal(await attacker.cookie('svc_browser'), undefined)
  await svc.database.prisma.user.update({ where: { email }, data: { emailVerifiedAt: new Date(svc.clock.now()) } })
  t.equal((await attacker.signIn(email, strongPassword)).statusCode, 200)
  const cookie = `svc_browser=${await attacker.cookie('svc_browser')}`
  t.notOk((await spread(svc, email, 60, cookie)).includes(429), 'known after the verification')
})

t.test('keeps the count of wrong codes after a pause of an hour', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { two_factor: '1000/1m' } } })
  const ada = await enableTwoFactor(svc)
  const guess = async (spa: Browser) => (await spa.post('/two-factor-challenge', { code: ada.wrong() })).statusCode
  const spa = await challenged(svc, ada.email)
  for (let i = 0; i < 49; i++) t.equal(await guess(spa), 422)
  svc.clock.advance(hour + minute)
  const later = await challenged(svc, ada.email)
  t.strictSame([await guess(later), await guess(later)], [422, 429])
  svc.clock.advance(25 * hour)
  t.strictSame([await guess(await challenged(svc, ada.email))], [422], 'a day without a guess clears it')
})
