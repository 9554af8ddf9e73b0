// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { hour } from '../../support/clock.ts'

t.test('treats a browser with a revoked remember token as a guest', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(email, undefined, { remember: true })
  svc.clock.advance(3 * hour)
  const look = svc.app.lookups.rememberToken
  svc.app.lookups.rememberToken = async (id) => {
    const row = await look(id)
    await svc.database.prisma.rememberToken.deleteMany()
    return row
  }
  const facts = await svc.database.prisma.rememberToken.findMany()
  t.equal((await spa.get('/svc/csrf-cookie')).statusCode, 204)
  await svc.database.prisma.rememberToken.createMany({ data: facts })
  t.equal((await spa.get('/api/user')).statusCode, 401)
})

t.test('deletes the ended session row of the same browser at sign-in', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(email)
  svc.clock.advance(3 * hour)
  t.equal(await svc.database.prisma.session.count(), 1)
  await spa.signIn(email)
  t.equal(await svc.database.prisma.session.count(), 1)
})

t.test('ends a request that never completes', async (t) => {
  const { app } = await buildTestApp(t)
  t.equal(app.server.requestTimeout, 30_000)
})
