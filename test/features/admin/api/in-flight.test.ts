import t from 'tap'
import { adminCall, openAdmin } from '../../../support/admin.ts'
import { beforeNextTransaction } from '../../../support/meanwhile.ts'

t.test('writes nothing for an administrator whose role was removed since the request began', async (t) => {
  const { svc, admin } = await openAdmin(t)
  const { prisma } = svc.database
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const call = adminCall(svc, await svc.createToken(admin, { abilities: ['svc:admin'] }))
  const kept = await svc.createToken(ada)
  const browser = svc.browser()
  await browser.signIn(ada.email)
  const [session] = (await browser.get('/user/sessions')).json()
  const setRole = (role: string) => prisma.user.update({ where: { id: BigInt(admin.id) }, data: { role } })
  const state = async () => ({
    users: await prisma.user.findMany({ where: { id: { not: BigInt(admin.id) } } }),
    invitations: await prisma.invitation.count(),
    tokens: await prisma.personalAccessToken.count(),
    sessions: await prisma.session.count(),
    resets: await prisma.passwordReset.count(),
    keys: await prisma.oauthKey.count(),
    events: await prisma.event.count({ where: { type: { notIn: ['admin_read', 'login'] } } }),
  })
  const before = await state()
  const own = `/users/${ada.id}`
  const jsonLines = { 'content-type': 'application/x-ndjson' }
  const line = '{"email":"new@example.com","name":"New"}' as unknown as object
  const requests: Parameters<typeof call>[] = [
    ['POST', '/users', { email: 'new@example.com', name: 'New' }],
    ['POST', '/users', { email: 'new@example.com', name: 'New' }, { 'idempotency-key': 'one' }],
    ['POST', '/users/import', line, jsonLines],
    ['POST', '/invitations', { email: 'new@example.com' }],
    ['PATCH', own, { role: 'admin' }],
    ['PATCH', `/users/${admin.id}`, { role: 'admin' }],
    ['POST', `${own}/password`, { password: 'a new battery' }],
    ['POST', `${own}/reset-link`, {}],
    ['POST', `${own}/logout`, {}],
    ['POST', `${own}/unlock`, {}],
    ['DELETE', `${own}/tokens`],
    ['DELETE', `/tokens/${kept.split('|')[0]}`],
    ['DELETE', `/sessions/${session.id}`],
    ['POST', '/keys/rotate', { when: 'now' }],
    ['DELETE', own],
  ]
  for (const request of requests) {
    beforeNextTransaction(svc, () => setRole('user'))
    const answer = await call(...request)
    const name = request.slice(0, 2).join(' ')
    t.equal(answer.statusCode, 403, name)
    t.equal((await prisma.user.findUniqueOrThrow({ where: { id: BigInt(admin.id) } })).role, 'user', name)
    t.same(await state(), before, name)
    await setRole('admin')
  }
  t.equal((await call('PATCH', own, { role: 'editor' })).statusCode, 200)

  await t.test('writes nothing for an administrator whose token or session has ended', async (t) => {
    const signedIn = svc.browser()
    await signedIn.signIn(admin.email)
    t.equal((await signedIn.post('/user/confirm-password', { password: 'correct horse' })).statusCode, 201)
    const users = await prisma.user.count()
    const body = { email: 'new@example.com', name: 'New' }
    beforeNextTransaction(svc, () => prisma.session.deleteMany({ where: { userId: BigInt(admin.id) } }))
    t.equal((await signedIn.post('/admin/v1/users', body)).statusCode, 401)
    beforeNextTransaction(svc, () => prisma.personalAccessToken.deleteMany({}))
    t.equal((await call('POST', '/users', body)).statusCode, 401)
    t.equal(await prisma.user.count(), users)
  })

  await t.test('lets only one of two administrators demote the other', async (t) => {
    for (let round = 0; round < 5; round++) {
      const pair = [await svc.createUser({ role: 'admin' }), await svc.createUser({ role: 'admin' })]
      const calls = await Promise.all(
        pair.map(async (user) => adminCall(svc, await svc.createToken(user, { abilities: ['svc:admin'] }))),
      )
      const answers = await Promise.all(
        calls.map((each, index) => each('PATCH', `/users/${pair[1 - index]?.id}`, { role: 'user' })),
      )
      t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 403])
    }
  })
})
