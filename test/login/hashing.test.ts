// engine: none
import t from 'tap'
import { needsRehash } from '../../src/crypto/password.ts'
import { PasswordHashing } from '../../src/login/hashing.ts'

/** The shortest of a few runs, in milliseconds: what the machine does besides only makes runs longer. */
async function shortest(work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < 5; i++) {
    const began = performance.now()
    await work()
    best = Math.min(best, performance.now() - began)
  }
  return best
}

t.test('nobody and a user without a password take as long as a wrong password', async (t) => {
  const hashing = new PasswordHashing(1)
  const stored = await hashing.hash('correct horse')
  t.equal(await hashing.verify(stored, 'correct horse'), true)
  t.equal(await hashing.verify(stored, 'wrong'), false)
  t.equal(await hashing.verify(null, 'wrong'), false)
  const known = await shortest(() => hashing.verify(stored, 'wrong'))
  const unknown = await shortest(() => hashing.verify(null, 'wrong'))
  t.ok(unknown > known / 3, `${unknown} ms for nobody, ${known} ms for a user`)
  t.ok(unknown < known * 3)
})

t.test('no password fits what is no hash, and the empty one fits nothing', async (t) => {
  const hashing = new PasswordHashing(1)
  const empty = await hashing.hash('')
  for (const stored of [empty, '', '*', 'x', '$2y$', '$2y$10$short', '$argon2id$', 'plain', '!']) {
    t.equal(await hashing.verify(stored, ''), false, stored)
    if (stored !== empty) t.equal(await hashing.verify(stored, stored), false, stored)
    if (stored !== empty) t.equal(needsRehash(stored), true)
  }
  t.equal(needsRehash(empty), false)
})

t.test('the queue is bounded, and every thread comes free again', async (t) => {
  const hashing = new PasswordHashing(1)
  const work = Array.from({ length: 101 }, () => hashing.verify('x', 'x'))
  t.equal(hashing.queued, 100)
  const refusal = { statusCode: 503, code: 'unavailable', headers: { 'retry-after': '2' } }
  await Promise.all([t.rejects(hashing.hash('x'), refusal), t.rejects(hashing.verify(null, 'x'), refusal)])
  t.strictSame(new Set(await Promise.all(work)), new Set([false]))
  t.equal(hashing.queued, 0)
  t.equal(await hashing.verify(await hashing.hash('x'), 'x'), true)
})
