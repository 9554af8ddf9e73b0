// engine: none
import { PassThrough } from 'node:stream'
import t from 'tap'
import { strongPassword } from '../support/accounts.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { codeAt, confirmedBrowser, enableTwoFactor } from '../support/totp.ts'

const factor = '/user/two-factor-authentication'

/**
 * Begins a request whose body comes later, and waits until its session was read; the returned function sends the body
 * and returns the status.
 */
async function begin({ app: { lookups } }: TestApp, spa: Browser, method: 'POST' | 'DELETE', path: string) {
  const session = lookups.session.bind(lookups)
  const isRead = Promise.withResolvers<void>()
  lookups.session = (id) => session(id).finally(() => isRead.resolve())
  const body = new PassThrough()
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  const answer = spa.send(method, path, body, headers)
  await isRead.promise
  lookups.session = session
  return async (content: object) => {
    body.end(JSON.stringify(content))
    return (await answer).statusCode
  }
}

t.test('ignores second-factor changes of a session that ends while they are in flight', async (t) => {
  const svc = await buildTestApp(t)
  const { prisma } = svc.database
  const ada = await enableTwoFactor(svc)
  const thief = await confirmedBrowser(svc, ada.email).catch(() => null)
  t.equal(thief, null, 'a password alone is not enough')
  const stolen = svc.browser()
  await stolen.signIn(ada.email)
  await stolen.post('/two-factor-challenge', { code: ada.code() })
  await stolen.post('/user/confirm-password', { password: 'correct horse' })

  const late = [
    await begin(svc, stolen, 'DELETE', factor),
    await begin(svc, stolen, 'POST', factor),
    await begin(svc, stolen, 'POST', '/user/two-factor-recovery-codes'),
    await begin(svc, stolen, 'DELETE', '/user/other-sessions'),
  ]
  const control = await begin(svc, stolen, 'POST', '/user/two-factor-recovery-codes')
  t.equal(await control({}), 200, 'a slow body causes no error')
  const change = { current_password: 'correct horse', password: strongPassword, password_confirmation: strongPassword }
  t.equal((await ada.browser.send('PUT', '/user/password', change)).statusCode, 200)
  const before = await prisma.user.findUniqueOrThrow({ where: { email: ada.email } })
  for (const send of late) t.equal(await send({ force: true, password: strongPassword }), 401)
  t.strictSame(await prisma.user.findUniqueOrThrow({ where: { email: ada.email } }), before)
  t.equal((await ada.browser.get('/api/user')).statusCode, 200)
})

t.test('does not confirm a second factor by a session that ended meanwhile', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const spa = await confirmedBrowser(svc, email)
  await spa.post(factor)
  const { secretKey } = (await spa.get('/user/two-factor-secret-key')).json()
  const late = await begin(svc, spa, 'POST', '/user/confirmed-two-factor-authentication')
  const other = await confirmedBrowser(svc, email)
  t.equal((await other.send('DELETE', '/user/other-sessions', { password: 'correct horse' })).statusCode, 200)
  t.equal(await late({ code: codeAt(secretKey, svc.clock.now()) }), 401)
  t.notOk((await other.get('/api/user')).json().two_factor_enabled)
})
