// engine: none
import { createHmac } from 'node:crypto'
import t from 'tap'
import { recent } from '../../../src/platform/cache.ts'
import { constantTimeEqual, sha256Base64url, sha256Hex } from '../../../src/platform/crypto/hash.ts'
import { MacKey } from '../../../src/platform/crypto/mac.ts'
import { randomAlphanumeric, randomId } from '../../../src/platform/crypto/random.ts'
import { Signer } from '../../../src/platform/crypto/signer.ts'

const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const macOf = (key: Buffer, value: string) => createHmac('sha256', key).update(value).digest('base64url')
const signer = (...keys: Buffer[]) => new Signer(keys.map((key) => new MacKey(key)))
const invalid = { valid: false, renew: false, value: null }

t.test('signs with the first key and verifies with all', async (t) => {
  const rotated = signer(second, first)
  t.equal(rotated.sign('a.b'), `a.b.${macOf(second, 'a.b')}`)
  t.same(rotated.unsign(`a.b.${macOf(second, 'a.b')}`), { valid: true, renew: false, value: 'a.b' })
  t.same(rotated.unsign(`a.b.${macOf(first, 'a.b')}`), { valid: true, renew: true, value: 'a.b' })
  t.equal(rotated.sign('a.b'), `a.b.${macOf(second, 'a.b')}`, 'an old signature is replaced')
  t.equal(rotated.sign('a.b'), `a.b.${macOf(second, 'a.b')}`)
  t.same(signer(second).unsign(signer(first).sign('a')), invalid, 'a removed key verifies nothing')
  t.throws(() => signer().sign('a'), { message: 'A signer needs a key.' })
})

t.test('rejects every changed signature', async (t) => {
  const own = signer(first)
  const signed = own.sign('value')
  for (const text of [
    '',
    '.',
    'value',
    'value.',
    `.${macOf(first, '')}`,
    `other.${macOf(first, 'value')}`,
    `${signed}x`,
    signed.slice(0, -1),
    `value.${macOf(second, 'value')}`,
  ]) {
    t.same(own.unsign(text), invalid, text)
  }
})

t.test('still signs and verifies after very many values', async (t) => {
  const own = signer(first)
  const signed = Array.from({ length: 10_500 }, (_, n) => `${n}.${macOf(first, String(n))}`)
  t.ok(signed.every((text) => own.unsign(text).valid))
  for (const n of [0, 999, 10_000, 10_499]) t.equal(own.sign(String(n)), signed[n])
  t.same(own.unsign(signed[10_499] ?? ''), { valid: true, renew: false, value: '10499' }, 'from the cache')
  t.same(own.unsign(signed[0] ?? ''), { valid: true, renew: false, value: '0' }, 'after it left the cache')
  t.same(own.unsign(`${signed[10_499]}x`), invalid)
})

t.test('compares complete strings', async (t) => {
  t.equal(constantTimeEqual('', ''), true)
  t.equal(constantTimeEqual('secret', 'secret'), true)
  for (const other of ['secres', 'secre', 'secrett', '', 'SECRET', 'ſecret']) {
    t.equal(constantTimeEqual('secret', other), false, other)
    t.equal(constantTimeEqual(other, 'secret'), false, other)
  }
  t.equal(sha256Hex('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  t.equal(sha256Base64url('abc'), 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
})

t.test('makes random texts of the given length with equally likely characters', async (t) => {
  for (const length of [0, 1, 9, 40, 1_000]) t.equal(randomAlphanumeric(length).length, length)
  const length = 620_000
  const counts = new Map<string, number>()
  for (const character of randomAlphanumeric(length)) counts.set(character, (counts.get(character) ?? 0) + 1)
  t.equal(counts.size, 62)
  // About eight standard deviations; a byte modulo 62 would be off by twenty.
  for (const [character, count] of counts) t.ok(Math.abs(count - length / 62) < 800, `${character}: ${count}`)
  t.match(randomId(), /^[\w-]{43}$/)
  t.not(randomId(), randomId())
})

t.test('caches the results for the last keys, and for at most twice as many', async (t) => {
  const computed: string[] = []
  const upper = recent(2, (key) => {
    computed.push(key)
    return key === 'none' ? null : key.toUpperCase()
  })
  const resultsOf = (...keys: string[]) => {
    computed.length = 0
    return { results: keys.map(upper), computed: computed.join(' ') }
  }
  t.same(resultsOf('a', 'a', 'b', 'a'), { results: ['A', 'A', 'B', 'A'], computed: 'a b' })
  t.same(resultsOf('c', 'b', 'c', 'b'), { results: ['C', 'B', 'C', 'B'], computed: 'c' })
  t.same(resultsOf('d', 'e', 'd', 'e', 'a'), { results: ['D', 'E', 'D', 'E', 'A'], computed: 'd e a' })
  t.same(resultsOf('none', 'none'), { results: [null, null], computed: 'none' })
})
