// engine: none
import t from 'tap'
import { randomId } from '../../../src/platform/crypto/random.ts'

t.test('returns unique ids with random bits', async (t) => {
  const ids = Array.from({ length: 5_000 }, randomId)
  t.equal(new Set(ids).size, ids.length)
  t.ok(ids.every((id) => /^[\w-]{43}$/.test(id)))
  const bytes = ids.map((id) => Buffer.from(id, 'base64url'))
  for (const place of Array.from({ length: 32 }, (_, i) => i)) {
    // 5,000 bytes miss each of the 256 values with a probability of 1 in 10^6.
    if (new Set(bytes.map((each) => each[place])).size < 250) t.fail(`byte ${place} is not random`)
  }
})
