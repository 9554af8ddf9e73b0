import t from 'tap'
import { updateUser } from '../../src/users/users.ts'
import { strong } from '../support/accounts.ts'
import { buildTestApp } from '../support/app.ts'

t.test('an account that is enabled again is open to none of the browsers of before', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const [plain, remembered, forgetful] = [svc.browser(), svc.browser(), svc.browser()]
  await plain.signIn(email)
  await remembered.signIn(email, undefined, { remember: true })
  await forgetful.get('/svc/csrf-cookie')
  await forgetful.post('/forgot-password', { email })
  const token = /reset-password\/([0-9a-f]{64})/.exec((await svc.mailbox.to(email)).at(-1)?.text ?? '')?.[1]
  const set = (disabled: boolean) =>
    svc.database.transaction((tx) => updateUser(tx, email, { disabled }, svc.clock.now()))
  t.ok((await set(true))?.disabled)
  t.notOk((await set(false))?.disabled)
  for (const browser of [plain, remembered]) t.equal((await browser.get('/api/user')).statusCode, 401)
  const form = { email, token, password: strong, password_confirmation: strong }
  t.equal((await forgetful.post('/reset-password', form)).statusCode, 422)
  t.equal((await svc.browser().signIn(email)).statusCode, 200)
})
