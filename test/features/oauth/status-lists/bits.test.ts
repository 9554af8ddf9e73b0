// engine: none
import { inflateSync } from 'node:zlib'
import t from 'tap'
import { encodeList, listSize } from '../../../../src/features/oauth/status-lists/bits.ts'

t.test('encodes the example of the specification', async (t) => {
  const invalid = [0, 3, 4, 5, 7, 8, 9, 13, 15]
  t.same([...inflateSync(Buffer.from(encodeList(invalid, 16).lst, 'base64url'))], [0xb9, 0xa3])
  t.same([...inflateSync(Buffer.from('eNrbuRgAAhcBXQ', 'base64url'))], [0xb9, 0xa3], 'as in section 4.1')
})

t.test('has the same length for any number of tokens', async (t) => {
  for (const invalid of [[], [0], [listSize - 1]]) {
    const { bits, lst } = encodeList(invalid)
    const bytes = inflateSync(Buffer.from(lst, 'base64url'))
    t.equal(bits, 1)
    t.equal(bytes.length, listSize / 8)
    t.equal(
      bytes.reduce((sum, byte) => sum + (byte === 0 ? 0 : 1), 0),
      invalid.length,
    )
  }
})
