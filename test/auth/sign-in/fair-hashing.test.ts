// engine: none
// lane: all
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Lane } from '../../../src/auth/sign-in/fair-queue.ts'
import { PasswordHashing } from '../../../src/auth/sign-in/hashing.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'

/** Occupies all places of these lanes until the answer frees them. */
function flood(t: Test, svc: TestApp, lanes: readonly Lane[]): () => Promise<void> {
  const hashing = new PasswordHashing({ threads: 1 })
  svc.app.hashing = hashing
  t.teardown(() => hashing.close())
  const waiting: Promise<unknown>[] = []
  let isOver = false
  const run = async () => {
    for (; !isOver; await nextTurn()) {
      for (const lane of lanes) {
        // A task that loses its place is rejected later, which is an answer too.
        while (!isOver && !hashing.isFull(lane)) waiting.push(hashing.verify('x', 'x', lane).catch(() => false))
      }
    }
  }
  const running = run()
  return async () => {
    isOver = true
    await running
    await Promise.all(waiting)
  }
}

const signIn = (svc: TestApp, email: string, remoteAddress: string) =>
  svc.app.inject({
    method: 'POST',
    url: '/svc/token',
    remoteAddress,
    payload: { email, password: 'correct horse', device_name: 'd' },
  })

t.test('rejects an address that uses its whole share of the queue, while others sign in', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const end = flood(t, svc, [{ kind: 'address', key: '198.51.100.1' }])
  const answer = await signIn(svc, email, '198.51.100.1')
  t.equal(answer.statusCode, 503)
  t.match(answer.headers['retry-after'], /^\d+$/)
  t.equal((await signIn(svc, email, '::ffff:198.51.100.1')).statusCode, 503, 'the same address')
  t.equal((await signIn(svc, email, '198.51.100.2')).statusCode, 200)
  t.equal((await signIn(svc, email, '2001:db8::1')).statusCode, 200)
  await end()
  t.equal((await signIn(svc, email, '198.51.100.1')).statusCode, 200)
})

t.test('gives an IPv6 /64 network one share of the queue', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const end = flood(t, svc, [{ kind: 'address', key: '2001:db8:0:1::/64' }])
  t.equal((await signIn(svc, email, '2001:db8:0:1::9')).statusCode, 503)
  t.equal((await signIn(svc, email, '2001:db8:0:2::9')).statusCode, 200)
  await end()
})

t.test('signs a known browser in while many addresses fill the queue', async (t) => {
  const svc = await buildTestApp(t)
  const [owner, neighbour] = [await svc.createUser(), await svc.createUser()]
  const known = new Browser(svc.app, { remoteAddress: '203.0.113.1' })
  t.equal((await known.signIn(owner.email)).statusCode, 200)
  const lanes = Array.from({ length: 100 }, (_, index) => ({ kind: 'address', key: `198.51.100.${index}` }) as const)
  const end = flood(t, svc, lanes)
  t.equal((await signIn(svc, owner.email, '203.0.113.2')).statusCode, 503, 'a stranger')
  t.equal((await known.signIn(owner.email)).statusCode, 200)
  t.equal((await known.signIn(neighbour.email)).statusCode, 503, 'for another account it is an unknown browser')
  await end()
})
