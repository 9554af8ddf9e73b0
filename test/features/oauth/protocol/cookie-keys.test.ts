// engine: none
import t from 'tap'
import { CookieKeys } from '../../../../src/features/oauth/protocol/cookie-keys.ts'

const cookie = '__Host-svc_oauth=an-id'
/** By `openssl dgst -sha256 -hmac former`, in base64url. */
const known = 'bkwuGaZdPhckxkfG9lBqKrMueNr8zioE8DnBn6FiEMQ'

t.test('signs cookies with HMAC-SHA256', async (t) => {
  t.equal(new CookieKeys(['former']).sign(cookie), known)
})

t.test('verifies signatures of all keys, and rejects others', async (t) => {
  const keys = new CookieKeys(['current', 'former'])
  t.not(keys.sign(cookie), known)
  t.ok(keys.verify(cookie, keys.sign(cookie)))
  t.ok(keys.verify(cookie, known))
  t.equal(keys.index(cookie, known), 1)
  for (const signature of ['', known.slice(1), `${known}A`, known.toLowerCase()]) {
    t.notOk(keys.verify(cookie, signature), signature)
  }
  t.notOk(keys.verify(`${cookie}x`, known))
  t.notOk(new CookieKeys(['current']).verify(cookie, known))
})

t.test('rejects an empty list of keys', async (t) => {
  t.throws(() => new CookieKeys([]), { message: /need a key/ })
})
