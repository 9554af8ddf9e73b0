import t, { type Test } from 'tap'
import { removePassword } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { holdTransactions } from '../../support/hold.ts'
import { stopTime } from '../../support/time.ts'
import { until } from '../../support/until.ts'

/** A signed-in browser of a new user. */
async function signedIn(t: Test) {
  const svc = await buildTestApp(t, { clock: stopTime(t), settings: { rate_limits: { mail: null } } })
  const user = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(user.email)
  return { svc, user, browser }
}

const isConfirmed = async (browser: Browser) => (await browser.get('/user/confirmed-password-status')).json().confirmed

t.test('gives the options of a silent passkey once, while the password is being confirmed', async (t) => {
  const { svc, browser } = await signedIn(t)
  const { hashing } = svc.app
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const verify: typeof hashing.verify = async (...password) => {
    begun.resolve()
    await gate.promise
    return hashing.verify(...password)
  }
  svc.app.hashing = new Proxy(hashing, {
    get: (target, name) => {
      if (name === 'verify') return verify
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const confirmed = browser.post('/user/confirm-password', { password: 'correct horse' })
  await begun.promise
  const options = '/user/passkeys/conditional/options'
  t.equal((await browser.get(options)).statusCode, 200)
  gate.resolve()
  t.equal((await confirmed).statusCode, 201)
  t.equal((await browser.get(options)).statusCode, 403, 'the session requested them before')
  t.equal(await isConfirmed(browser), true)
})

t.test('keeps a confirmation, and its code used up, while another code is being mailed', async (t) => {
  const { svc, user, browser } = await signedIn(t)
  await removePassword(svc, user.id)
  await browser.post('/user/confirmation-code')
  const code = await svc.mailbox.find(user.email, /^([2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4})\r?$/m)
  const hold = holdTransactions(svc)
  const another = browser.post('/user/confirmation-code')
  await until(async () => hold.count() > 0)
  hold.passOthers()
  const enter = () => browser.post('/user/confirm-password', { code })
  t.equal((await enter()).statusCode, 201)
  hold.release()
  t.equal((await another).statusCode, 202)
  t.equal(await isConfirmed(browser), true, 'the confirmation is kept')
  t.equal((await enter()).statusCode, 422, 'the code was used')
})
