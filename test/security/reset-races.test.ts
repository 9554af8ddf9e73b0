import t from 'tap'
import { strongPassword } from '../support/accounts.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { confirmedBrowser } from '../support/totp.ts'

const sameOrigin = { 'sec-fetch-site': 'same-origin' }

/** Whether a reset link was mailed to an address. Mails that are due at the same time arrive in any order. */
const gotLink = async (svc: TestApp, to: string) =>
  (await svc.mailbox.to(to)).some(({ subject }) => subject === 'Reset your password')

t.test('invalidates a reset link that is created while the user changes the address', async (t) => {
  const svc = await buildTestApp(t, { settings: { registration: { email_change: 'immediate' } } })
  const { email } = await svc.createUser({ email: 'lost@example.com' })
  const spa = await confirmedBrowser(svc, email)
  const { database } = svc
  const transaction = database.transaction.bind(database)
  // The second transaction from here creates the link: the user was looked up before it, and changes the address before
  // it begins.
  let before = 2
  database.transaction = async (work) => {
    if (--before === 0) {
      database.transaction = transaction
      const moved = await spa.put('/user/profile-information', { name: 'Ada', email: 'new@example.com' })
      t.equal(moved.statusCode, 200)
    }
    return transaction(work)
  }
  t.equal((await svc.browser().post('/forgot-password', { email }, sameOrigin)).statusCode, 200)
  const mails = await svc.mailbox.to(email)
  const token = mails.map(({ text }) => /reset-password\/([0-9a-f]{64})/.exec(text)?.[1]).find(Boolean)
  t.ok(token, 'the old mailbox has a link')
  for (const address of ['new@example.com', email]) {
    const form = { token, email: address, password: strongPassword, password_confirmation: strongPassword }
    t.equal((await svc.browser().post('/reset-password', form, sameOrigin)).statusCode, 422, address)
  }
  t.equal((await svc.browser().signIn('new@example.com')).statusCode, 200, 'the password is unchanged')
})

t.test('mails a reset link right after an undo, even if an attacker requested one for the new address', async (t) => {
  const svc = await buildTestApp(t, { settings: { registration: { email_change: 'immediate' } } })
  const { email } = await svc.createUser({ email: 'owner@example.com' })
  const attacker = await confirmedBrowser(svc, email)
  await attacker.put('/user/profile-information', { name: 'Ada', email: 'evil@example.com' })
  await svc.browser().post('/forgot-password', { email: 'evil@example.com' }, sameOrigin)
  t.notOk(await gotLink(svc, 'evil@example.com'), 'a mailbox that its owner may still lose opens nothing')
  const notices = (await svc.mailbox.to(email)).map(({ text }) => /http:\S+(\/email\/undo\/\S+)/.exec(text)?.[1])
  const undone = await svc.app.inject({
    method: 'POST',
    url: notices.find(Boolean) ?? '',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost:8000' },
    payload: '',
  })
  t.equal(undone.statusCode, 200, undone.body)
  await svc.browser().post('/forgot-password', { email }, sameOrigin)
  t.ok(await gotLink(svc, email), 'no throttle of the attacker applies')
})

t.test('mails a reset link to a new address although the old one just got one', async (t) => {
  const svc = await buildTestApp(t, { settings: { registration: { email_change: 'immediate' } } })
  const { email } = await svc.createUser({ verified: false })
  const spa = await confirmedBrowser(svc, email)
  const forgot = (address: string) => svc.browser().post('/forgot-password', { email: address }, sameOrigin)
  await forgot(email)
  t.ok(await gotLink(svc, email))
  await spa.put('/user/profile-information', { name: 'Ada', email: 'new@example.com' })
  await forgot('new@example.com')
  t.ok(await gotLink(svc, 'new@example.com'))
})
