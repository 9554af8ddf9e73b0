import t from 'tap'
import { SessionStore } from '../../src/access/session-store.ts'
import { buildTestApp } from '../support/app.ts'

t.test('an anonymous save leaves a row alone that gained a user meanwhile', async (t) => {
  const { app, database, clock, config, ...svc } = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const sessionId = (await spa.cookie('svc_session'))?.split('.')[0] ?? ''
  const before = await database.prisma.session.findMany()
  t.equal(before.length, 1)
  const store = new SessionStore({ database, lookups: app.lookups, clock, config })
  clock.advance(60_000)
  const save = (id: string) =>
    new Promise<void>((resolve, reject) => {
      // A request that read this id before the row was there.
      const read = { cookie: { originalMaxAge: null }, planted: 'by the anonymous request' }
      store.set(id, read as never, (error) => (error ? reject(error) : resolve()))
    })
  await save(sessionId)
  t.same(await database.prisma.session.findMany(), before)
  t.equal((await spa.get('/api/user')).json().id, user.id)
  await save('another-id')
  t.match(
    await database.prisma.session.findMany({ where: { userId: null } }),
    [{ data: /planted/ }],
    'others are saved',
  )
})
