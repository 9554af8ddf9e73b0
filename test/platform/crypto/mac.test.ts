// engine: none
import { createHmac, randomBytes } from 'node:crypto'
import t from 'tap'
import { MacKey } from '../../../src/platform/crypto/mac.ts'

t.test('computes HMAC-SHA256 for every text and length, in any order', async (t) => {
  const bytes = randomBytes(32)
  const key = new MacKey(bytes)
  const expected = (text: string) => createHmac('sha256', bytes).update(text).digest('base64url')
  const lengths = [0, 1, 43, 64, 191, 192, 193, 1000, 7]
  const texts = [...lengths.map((length) => 'a'.repeat(length)), 'ünïcödé €'.repeat(20), 'ünïcödé €', 'nul\0inside', '']
  for (const text of texts) t.equal(key.sign(text), expected(text), `${text.length} characters`)
})

t.test('matches the vectors of RFC 4231', async (t) => {
  const hex = (base64: string) => Buffer.from(base64, 'base64url').toString('hex')
  t.equal(
    hex(new MacKey(Buffer.alloc(20, 0x0b)).sign('Hi There')),
    'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
  )
  t.equal(
    hex(new MacKey(Buffer.from('Jefe')).sign('what do ya want for nothing?')),
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  )
  t.throws(() => new MacKey(Buffer.alloc(65)))
})
