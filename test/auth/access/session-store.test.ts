import type { Session } from 'fastify'
import t, { type Test } from 'tap'
import { SessionStore } from '../../../src/auth/access/session-store.ts'
import { buildTestApp } from '../../support/app.ts'

t.test('does not overwrite the row of a session that gained a user with an anonymous session', async (t) => {
  const { app, database, clock, config, ...svc } = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const sessionId = (await spa.cookie('svc_session'))?.split('.')[0] ?? ''
  const before = await database.prisma.session.findMany()
  t.equal(before.length, 1)
  const store = new SessionStore({ database, lookups: app.lookups, clock, config, subscriber: app.subscriber })
  clock.advance(60_000)
  const save = (id: string) =>
    new Promise<void>((resolve, reject) => {
      // A request that read this id before the row existed.
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
    'other sessions are saved',
  )
})

/** A store beside a signed-in browser, and the id of its session. */
async function beside(t: Test) {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const { app, database, clock, config } = svc
  const store = new SessionStore({ database, lookups: app.lookups, clock, config, subscriber: app.subscriber })
  const read = (id: string) =>
    new Promise<Session>((resolve, reject) => {
      store.get(id, (error, session) => (error || !session ? reject(error) : resolve(session)))
    })
  const save = (id: string, session: Session) =>
    new Promise<void>((resolve, reject) => {
      store.set(id, session, (error) => (error ? reject(error) : resolve()))
    })
  const destroy = (id: string) =>
    new Promise<void>((resolve, reject) => store.destroy(id, (error) => (error ? reject(error) : resolve())))
  const sessionId = (await spa.cookie('svc_session'))?.split('.')[0] ?? ''
  return { svc, read, save, destroy, sessionId, rows: () => database.prisma.session.findMany() }
}

t.test('saves a session only to the row that it was read from', async (t) => {
  const { read, save, destroy, sessionId, rows } = await beside(t)
  const old = await read(sessionId)
  await save(sessionId, { ...old, note: 'first' } as never)
  t.match(await rows(), [{ data: /first/, userId: BigInt }], 'its own row')
  await destroy(sessionId)
  await save(sessionId, { ...old, note: 'revived' } as never)
  t.same(await rows(), [], 'does not revive an ended row')
  await save(sessionId, { ...(await read(sessionId)), note: 'anonymous' } as never)
  await save(sessionId, { ...old, note: 'from the ended session' } as never)
  t.match(await rows(), [{ data: /anonymous/, userId: null }], 'nor is the following row changed')
})

t.test('starts a new session after an ended one, without its user and data', async (t) => {
  const { svc, read, save, sessionId, rows } = await beside(t)
  const live = await read(sessionId)
  await save(sessionId, { ...live, note: 'of the user' } as never)
  const [before] = await rows()
  svc.clock.advance(svc.config.current().session.lifetime)
  const over = await read(sessionId)
  t.equal(over.state?.row, null)
  t.notMatch(JSON.stringify(over), 'of the user')
  await save(sessionId, { ...over, note: 'of the guest' } as never)
  const [after, ...others] = await rows()
  t.same(others, [])
  t.match(after, { id: before?.id, userId: null, data: /of the guest/, createdAt: new Date(svc.clock.now()) })
  t.not(after?.publicId, before?.publicId)
  t.notMatch(after?.data, /state|cookie/, 'what was read from it is not saved')

  const other = await beside(t)
  await other.svc.database.prisma.user.updateMany({ data: { disabledAt: new Date(other.svc.clock.now()) } })
  t.equal((await other.read(other.sessionId)).state?.row, null, 'the session of a disabled user is ignored')
  await other.svc.database.prisma.user.updateMany({ data: { disabledAt: null, password: 'another' } })
  t.equal((await other.read(other.sessionId)).state?.row, null, 'so is a session from before a password change')
})
