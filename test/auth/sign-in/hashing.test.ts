// engine: none
import { readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openHashingThreads, PasswordHashing, type PasswordMatch } from '../../../src/auth/sign-in/hashing.ts'
import { needsRehash, unknownUserHash } from '../../../src/platform/crypto/stored-password.ts'

const lane = { kind: 'address', key: '192.0.2.1' } as const

/** A pool that ends with its test. */
function open(t: Test, threads = 1): PasswordHashing {
  const hashing = new PasswordHashing({ threads })
  t.teardown(() => hashing.close())
  return hashing
}

t.test('accepts a password for its own hash, and checks unknown users against a hash of the same cost', async (t) => {
  const hashing = open(t)
  const stored = await hashing.hash('correct horse', lane)
  t.equal(await hashing.verify(stored, 'correct horse', lane), 'canonical')
  t.equal(await hashing.verify(stored, 'wrong', lane), 'none')
  t.equal(await hashing.verify(null, 'wrong', lane), 'none')
  t.equal(needsRehash(unknownUserHash), false)
  t.equal(unknownUserHash.split('$').length, stored.split('$').length)
})

t.test('rejects every password for an invalid hash, and the empty password always', async (t) => {
  const hashing = open(t)
  const empty = await hashing.hash('', lane)
  for (const stored of [empty, '', '*', 'x', '$2y$', '$2y$10$short', '$argon2id$', 'plain', '!']) {
    t.equal(await hashing.verify(stored, '', lane), 'none', stored)
    if (stored !== empty) t.equal(await hashing.verify(stored, stored, lane), 'none', stored)
    if (stored !== empty) t.equal(needsRehash(stored), true)
  }
  t.equal(needsRehash(empty), false)
})

t.test('queues only in the lane of the address, and frees every thread afterwards', async (t) => {
  const hashing = open(t)
  const work: Promise<PasswordMatch>[] = []
  while (!hashing.isFull(lane)) work.push(hashing.verify('x', 'x', lane))
  t.equal(hashing.queued, 50)
  const refusal = { statusCode: 503, code: 'unavailable', headers: { 'retry-after': '2' } }
  const other = hashing.verify('x', 'x', { kind: 'address', key: '192.0.2.2' })
  t.equal(hashing.queued, 51, 'another address has its place')
  await Promise.all([t.rejects(hashing.hash('x', lane), refusal), t.rejects(hashing.verify(null, 'x', lane), refusal)])
  t.strictSame(new Set(await Promise.all([...work, other])), new Set(['none']))
  t.equal(hashing.queued, 0)
  t.equal(await hashing.verify(await hashing.hash('x', lane), 'x', lane), 'canonical')
})

const isLinux = process.platform === 'linux'

t.test('hashes in a thread with a lower priority than the event loop', { skip: !isLinux && 'no Linux' }, async (t) => {
  const threads = () => readdirSync('/proc/self/task')
  const priority = getPriority()
  const before = threads()
  await open(t).hash('x', lane)
  const created = threads().filter((thread) => !before.includes(thread))
  const priorities = created.map((thread) => getPriority(Number(thread)))
  t.ok(priorities.includes(Math.min(priority + 10, 19)), `priorities of new threads: ${priorities.join()}`)
  t.equal(getPriority(), priority, 'the event loop keeps its own')
})

t.test('waits for queued checks on close', async (t) => {
  const hashing = new PasswordHashing({ threads: 1 })
  const work = Array.from({ length: 5 }, () => hashing.verify('x', 'x', lane))
  let finished = 0
  for (const check of work) check.then(() => finished++)
  await hashing.close()
  t.equal(finished, work.length)
})

t.test('rejects checks that no thread has before the process ends, and completes the others', async (t) => {
  const hashing = open(t)
  const work = Array.from({ length: 5 }, () => hashing.verify('x', 'x', lane))
  hashing.refuseWaiting()
  t.equal(hashing.queued, 0)
  t.ok(hashing.isFull({ kind: 'known', key: 'ada@example.com' }))
  const refusal = { statusCode: 503, code: 'unavailable', headers: { 'retry-after': '2' } }
  await t.rejects(hashing.hash('x', lane), refusal)
  const outcomes = await Promise.allSettled(work)
  t.match(outcomes, [{ value: 'none' }, { value: 'none' }, ...Array.from({ length: 3 }, () => ({ reason: refusal }))])
  t.equal(hashing.isFull(lane), false)
  t.equal(await hashing.verify('x', 'x', lane), 'none', 'a free thread continues to check')
})

t.test('gives a thread its next check before it finishes the last one, unless there are legacy hashes', async (t) => {
  const threads = openHashingThreads(1)
  const counts: number[] = []
  let running = 0
  const counted: typeof threads = {
    close: () => threads.close(),
    async run(task) {
      counts.push(++running)
      return threads.run(task).finally(() => running--)
    },
  }
  const hashing = new PasswordHashing({ threads: 1, shared: counted })
  t.teardown(() => counted.close())
  const check = async () => {
    counts.length = 0
    await Promise.all(Array.from({ length: 5 }, () => hashing.verify('x', 'x', lane)))
    return counts
  }
  t.equal(Math.max(...(await check())), 2)
  const work = check()
  hashing.addLegacyCosts([`$2b$04$${'a'.repeat(53)}`])
  t.strictSame((await work).slice(2), [1, 1, 1], 'after the two checks that the thread already had')
  t.strictSame(await check(), [1, 1, 1, 1, 1])
})

t.test('begins the next check while the event loop is busy', async (t) => {
  const hashing = open(t)
  await hashing.verify('x', 'x', lane)
  const finished: string[] = []
  const work = ['first', 'second'].map(async (name) => {
    await hashing.verify('x', name, lane)
    finished.push(name)
  })
  await turn()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
  await Promise.race(work)
  await turn()
  t.strictSame(finished, ['first', 'second'])
  await Promise.all(work)
})
