import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { beforeNextTransaction } from '../../support/meanwhile.ts'
import { enableTwoFactor } from '../../support/totp.ts'

t.test('records one sign-out when the session ended meanwhile', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const { prisma } = svc.database
  const logouts = () => prisma.event.count({ where: { type: 'logout' } })
  const spa = svc.browser()
  await spa.signIn(email)
  beforeNextTransaction(svc, () => prisma.session.deleteMany())
  t.equal((await spa.post('/logout')).statusCode, 200)
  t.equal(await logouts(), 0)
  await spa.signIn(email)
  t.equal((await spa.post('/logout')).statusCode, 200)
  t.equal(await logouts(), 1)
})

t.test('keeps the session of a browser when the sign-in of another user is refused', async (t) => {
  const svc = await buildTestApp(t)
  const [ada, grace] = [await svc.createUser(), await svc.createUser()]
  const { prisma } = svc.database
  const spa = svc.browser()
  await spa.signIn(ada.email, undefined, { remember: true })
  const data = { password: 'another hash' }
  beforeNextTransaction(svc, () => prisma.user.update({ where: { id: BigInt(grace.id) }, data }))
  const answer = await spa.post('/login', { email: grace.email, password: 'correct horse' })
  t.equal(answer.statusCode, 401, answer.body)
  t.equal((await spa.get('/api/user')).json().email, ada.email)
  t.equal(await prisma.session.count(), 1)
  t.equal(await prisma.rememberToken.count(), 1)
})

t.test('refuses to wait for a second factor in a session that ended meanwhile', async (t) => {
  const svc = await buildTestApp(t)
  const enrolled = await enableTwoFactor(svc)
  const { prisma } = svc.database
  const spa = svc.browser()
  await spa.signIn((await svc.createUser()).email)
  const challenges = () => prisma.event.count({ where: { type: 'two_factor_challenged' } })
  const before = await challenges()
  beforeNextTransaction(svc, () => prisma.session.deleteMany())
  const answer = await spa.post('/login', { email: enrolled.email, password: 'correct horse' })
  t.equal(answer.statusCode, 401, answer.body)
  t.equal(await challenges(), before)
  t.equal(await prisma.session.count(), 0, 'no session is revived')
  t.equal((await spa.get('/api/user')).statusCode, 401)
})
