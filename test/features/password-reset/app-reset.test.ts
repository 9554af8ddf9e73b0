// engine: none
import t from 'tap'
import { strongPassword } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { Device } from '../../support/device.ts'

const sent = 'We have emailed your password reset link.'
const done = 'Your password has been reset.'
const invalid = { email: ['This password reset token is invalid.'] }

t.test('resets a password from an app, without cookies', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const device = new Device(svc)
  const asked = await device.post('/svc/forgot-password', { email: ` ${email.toUpperCase()} ` })
  t.equal(asked.statusCode, 200, asked.body)
  t.strictSame(asked.json(), { message: sent, status: sent })
  t.equal(asked.headers['set-cookie'], undefined)
  const token = await svc.mailbox.find(email, /reset-password\/([0-9a-f]{64})/)
  const passwords = { password: strongPassword, password_confirmation: strongPassword }
  const weak = await device.post('/svc/reset-password', { email, token, password: 'x', password_confirmation: 'x' })
  t.same(Object.keys(weak.json().errors), ['password'], 'a rejected password does not use the token up')
  const body = { email, token, ...passwords, role: 'admin', device_name: 'Phone' }
  const answers = await Promise.all(Array.from({ length: 20 }, () => device.post('/svc/reset-password', body)))
  const [answer, ...more] = answers.filter(({ statusCode }) => statusCode === 200)
  t.strictSame(answer?.json(), { message: done, status: done }, 'does not sign in')
  t.equal(answer?.headers['set-cookie'], undefined)
  t.equal(more.length, 0)
  t.strictSame((await device.post('/svc/reset-password', body)).json().errors, invalid)
  t.equal((await device.token({ email, password: 'correct horse' })).statusCode, 422)
  t.equal((await device.token({ email, password: strongPassword })).statusCode, 200)
  t.match((await svc.database.prisma.user.findFirst())?.role, 'user')
})

t.test('answers the same for every address, and limits the requests together with browsers', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: '3/1m' } } })
  const { email } = await svc.createUser()
  const device = new Device(svc)
  for (const address of [email, 'unknown@example.com']) {
    const answer = await device.post('/svc/forgot-password', { email: address })
    t.strictSame(answer.json(), { message: sent, status: sent })
  }
  const body = { email: 'unknown@example.com', token: 'x', password: strongPassword }
  for (const address of [email, 'unknown@example.com']) {
    const more = { email: address, password_confirmation: strongPassword }
    t.strictSame((await device.post('/svc/reset-password', { ...body, ...more })).json().errors, invalid)
  }
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  t.equal((await spa.post('/forgot-password', { email })).statusCode, 200)
  t.equal((await device.post('/svc/forgot-password', { email })).statusCode, 429)
  svc.clock.advance(minute)
  t.equal((await device.post('/svc/forgot-password', { email: 'x' })).statusCode, 422)
})

t.test('rejects pages of other origins', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  for (const url of ['/svc/forgot-password', '/svc/reset-password']) {
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    const answer = await new Device(svc).post(url, { email }, headers)
    t.equal(answer.statusCode, 419)
    t.equal(answer.headers['access-control-allow-origin'], undefined)
  }
  t.equal((await svc.mailbox.to(email)).length, 0)
})
