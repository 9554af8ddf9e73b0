// engine: none
import t from 'tap'
import { Batch } from '../../../src/auth/access/lookups/batch.ts'

/** A batch whose queries wait until the test answers them. */
function heldBatch() {
  const queries: { keys: number[]; answer(): void; fail(): void }[] = []
  const batch = new Batch<number, { key: number }>(
    (keys) =>
      new Promise((resolve, reject) => {
        const answer = () => resolve(keys.filter((key) => key >= 0).map((key) => ({ key })))
        queries.push({ keys, answer, fail: () => reject(new Error('refused')) })
      }),
    ({ key }) => key,
  )
  return { batch, queries }
}

const keys = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)
const turns = async (count = 4) => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

t.test('divides the lookups between two queries and collects more while both run', async (t) => {
  const { batch, queries } = heldBatch()
  const found = keys(0, 64).map((key) => batch.find(key))
  await turns()
  t.same(
    queries.map((query) => query.keys),
    [keys(0, 32), keys(32, 32)],
  )
  const later = keys(64, 40).map((key) => batch.find(key))
  await turns()
  t.equal(queries.length, 2, 'no third query starts')
  queries[0]?.answer()
  t.same(
    await Promise.all(found.slice(0, 32)),
    keys(0, 32).map((key) => ({ key })),
  )
  await turns()
  t.same(queries[2]?.keys, keys(64, 36), 'half of the 72 lookups in progress')
  queries[1]?.answer()
  await Promise.all(found)
  await turns()
  t.same(queries[3]?.keys, keys(100, 4))
  for (const query of queries) query.answer()
  t.same(
    await Promise.all(later),
    keys(64, 40).map((key) => ({ key })),
  )
})

t.test('sends few lookups in one query, the same key once, and at most 500 keys', async (t) => {
  const { batch, queries } = heldBatch()
  const few = [...keys(0, 16), 3, 3].map((key) => batch.find(key))
  await turns()
  t.same(
    queries.map((query) => query.keys),
    [keys(0, 16)],
  )
  queries[0]?.answer()
  t.same((await Promise.all(few)).slice(-2), [{ key: 3 }, { key: 3 }])
  const many = keys(0, 2_000).map((key) => batch.find(key))
  for (let next = 1; next < 5; next++) {
    await turns()
    t.same(queries[next]?.keys, keys((next - 1) * 500, 500))
    queries[next]?.answer()
  }
  await Promise.all(many)
})

t.test('sends all lookups of a turn in one query if queries are not concurrent', async (t) => {
  const queries: number[][] = []
  const batch = new Batch<number, number>(
    (keys) => {
      queries.push(keys)
      return keys
    },
    (key) => key,
    1,
  )
  t.same(await Promise.all(keys(0, 100).map((key) => batch.find(key))), keys(0, 100))
  t.same(queries, [keys(0, 100)])
})

t.test('fails only the lookups of a failed query', async (t) => {
  const { batch, queries } = heldBatch()
  const found = keys(-16, 48).map((key) => batch.find(key))
  await turns()
  queries[0]?.fail()
  queries[1]?.answer()
  const outcomes = await Promise.allSettled(found)
  t.ok(
    outcomes.slice(0, 24).every(({ status }) => status === 'rejected'),
    'the keys of the failed query',
  )
  t.same(
    outcomes.slice(24).map((outcome) => outcome.status === 'fulfilled' && outcome.value),
    keys(8, 24).map((key) => ({ key })),
  )
})

t.test('returns null for keys without a row', async (t) => {
  const { batch, queries } = heldBatch()
  const found = [-1, 1].map((key) => batch.find(key))
  await turns()
  queries[0]?.answer()
  t.same(await Promise.all(found), [null, { key: 1 }])
})
