// engine: none
import t, { type Test } from 'tap'
import { needsRehash, nobodysHash } from '../../src/crypto/password.ts'
import { PasswordHashing } from '../../src/login/hashing.ts'

/** A pool that ends with its test. */
function open(t: Test, threads = 1): PasswordHashing {
  const hashing = new PasswordHashing(threads)
  t.teardown(() => hashing.close())
  return hashing
}

t.test('a password fits its own hash; nobody is checked against a hash of the same cost', async (t) => {
  const hashing = open(t)
  const stored = await hashing.hash('correct horse')
  t.equal(await hashing.verify(stored, 'correct horse'), true)
  t.equal(await hashing.verify(stored, 'wrong'), false)
  t.equal(await hashing.verify(null, 'wrong'), false)
  t.equal(needsRehash(nobodysHash), false)
  t.equal(nobodysHash.split('$').length, stored.split('$').length)
})

t.test('no password fits what is no hash, and the empty one fits nothing', async (t) => {
  const hashing = open(t)
  const empty = await hashing.hash('')
  for (const stored of [empty, '', '*', 'x', '$2y$', '$2y$10$short', '$argon2id$', 'plain', '!']) {
    t.equal(await hashing.verify(stored, ''), false, stored)
    if (stored !== empty) t.equal(await hashing.verify(stored, stored), false, stored)
    if (stored !== empty) t.equal(needsRehash(stored), true)
  }
  t.equal(needsRehash(empty), false)
})

t.test('the queue is bounded, and every thread comes free again', async (t) => {
  const hashing = open(t)
  const work = Array.from({ length: 100 }, () => hashing.verify('x', 'x'))
  while (hashing.queued < 100) work.push(hashing.verify('x', 'x'))
  const refusal = { statusCode: 503, code: 'unavailable', headers: { 'retry-after': '2' } }
  await Promise.all([t.rejects(hashing.hash('x'), refusal), t.rejects(hashing.verify(null, 'x'), refusal)])
  t.strictSame(new Set(await Promise.all(work)), new Set([false]))
  t.equal(hashing.queued, 0)
  t.equal(await hashing.verify(await hashing.hash('x'), 'x'), true)
})
