import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { holdTransactions } from '../../support/hold.ts'
import { until } from '../../support/until.ts'

const password = 'another long horse'
const change = { current_password: 'correct horse', password, password_confirmation: password }

t.test('ends a session that a concurrent password change renewed, and its remembered device', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(email, 'correct horse', { remember: true })
  const hold = holdTransactions(svc)
  const loggedOut = browser.post('/logout')
  await until(async () => hold.count() > 0)
  hold.passOthers()
  t.equal((await browser.put('/user/password', change)).statusCode, 200)
  const renewed = Object.assign(svc.browser(), { jar: await browser.jar.clone() })
  t.equal((await renewed.get('/api/user')).statusCode, 200)
  hold.release()
  t.equal((await loggedOut).statusCode, 200)
  t.equal((await renewed.get('/api/user')).statusCode, 401)
  t.equal(await svc.database.prisma.session.count({ where: { userId: { not: null } } }), 0)
  t.equal(await svc.database.prisma.rememberToken.count(), 0)
})
