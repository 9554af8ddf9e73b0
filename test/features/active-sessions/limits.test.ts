import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'

t.test('limits remembered browsers, and the list of sessions', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { login: null } } })
  const { prisma } = svc.database
  const ada = await svc.createUser()
  const userId = BigInt(ada.id)
  const start = svc.clock.now() - 5_000 * minute
  const ago = (index: number) => new Date(start + index * minute)
  const devices = () => prisma.rememberToken.findMany({ where: { userId }, orderBy: { lastUsedAt: 'asc' } })
  const remembered = async () => {
    const browser = svc.browser()
    const answer = await browser.signIn(ada.email, undefined, { remember: true })
    if (answer.statusCode !== 200) throw new Error(answer.body)
    return browser
  }

  await t.test('forgets the least recently used of 100 browsers', async (t) => {
    await prisma.rememberToken.createMany({
      data: Array.from({ length: 99 }, (_, index) => ({
        userId,
        tokenHash: String(index),
        createdAt: ago(0),
        lastUsedAt: ago(index),
        expiresAt: new Date(svc.clock.now() + minute),
      })),
    })
    const first = await remembered()
    t.equal((await devices()).length, 100)
    await Promise.all(Array.from({ length: 10 }, remembered))
    const left = await devices()
    t.equal(left.length, 100)
    t.equal(left[0]?.tokenHash, '10')
    svc.clock.advance(30 * minute)
    await prisma.session.deleteMany({ where: { userId } })
    t.equal((await first.get('/api/user')).statusCode, 200, 'a browser that was used recently stays signed in')
  })

  const publicId = (index: number) => String(index).padStart(43, '0')

  await t.test('lists the 1,000 most recent sessions', async (t) => {
    await prisma.session.createMany({
      data: Array.from({ length: 1_050 }, (_, index) => ({
        id: `id-${index}`,
        publicId: publicId(index),
        userId,
        createdAt: new Date(svc.clock.now() - minute),
        lastSeenAt: new Date(svc.clock.now() - minute - (1_050 - index)),
      })),
    })
    svc.clock.advance(minute)
    const browser = svc.browser()
    await browser.signIn(ada.email)
    const sessions: { id: string; current: boolean }[] = (await browser.get('/user/sessions')).json()
    t.equal(sessions.length, 1_000)
    t.equal(sessions[0]?.current, true)
    t.ok(sessions.some(({ id }) => id === publicId(1_049)) && !sessions.some(({ id }) => id === publicId(0)))
    t.equal((await browser.delete(`/user/sessions/${publicId(0)}`)).statusCode, 200, 'older ones can still be ended')
  })
})
