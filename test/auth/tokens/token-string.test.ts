// engine: none
import t from 'tap'
import { grants, storedAbilities } from '../../../src/auth/access/abilities.ts'
import { checksum, newSecret, parseToken, secretHash } from '../../../src/auth/tokens/token-string.ts'

const entropy = 'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcd'

t.test('matches the vectors of the reference', async (t) => {
  t.equal(checksum(entropy), 'f8c8ab1e')
  t.equal(checksum(''), '00000000', 'always eight digits')
  t.equal(secretHash(`${entropy}f8c8ab1e`), '2a0e4387dcc10a3114bf3518c114512abbe68156819fdcc9491b574cd059662b')
  t.equal(secretHash(`svc_${entropy}f8c8ab1e`), '7ad69d4c1ffdaef4cd18b8771819273e0248bb7deff9733da6ce8a66efd967a9')
  t.equal(secretHash('test'), '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08')
})

t.test('has a prefix, 40 random characters and their checksum', async (t) => {
  const seen = new Set<string>()
  const letters = new Set<string>()
  for (const prefix of ['', 'svc_']) {
    for (let i = 0; i < 500; i++) {
      const secret = newSecret(prefix)
      t.match(secret, new RegExp(`^${prefix}[A-Za-z0-9]{40}[0-9a-f]{8}$`))
      const random = secret.slice(prefix.length, -8)
      if (secret.slice(-8) !== checksum(random)) t.fail('the checksum covers only the 40 characters')
      seen.add(random)
      for (const letter of random) letters.add(letter)
    }
  }
  t.equal(seen.size, 1_000, 'unique each time')
  t.equal(letters.size, 62, 'every letter and digit occurs')
})

t.test('parses a bearer before any query', async (t) => {
  t.same(parseToken('12|a|b'), { id: 12n, hash: secretHash('a|b') }, 'the first bar separates')
  t.same(parseToken('legacy'), { id: null, hash: secretHash('legacy') })
  t.same(parseToken('9223372036854775807|x'), { id: 2n ** 63n - 1n, hash: secretHash('x') })
  for (const bad of ['|', '|x', '1|', 'a|x', '9223372036854775808|x', `${'1'.repeat(20)}|x`, '１|x', '1\n|x', ' 1|x']) {
    t.equal(parseToken(bad), null, JSON.stringify(bad))
  }
})

t.test('grants an ability by * or by the exact string', async (t) => {
  t.ok(grants(['*'], 'anything'))
  t.ok(grants(['a', 'b'], 'b'))
  for (const list of [[], ['a:*'], ['A'], ['a '], ['**'], ['a,b']]) t.notOk(grants(list, 'a'))
  t.notOk(grants(['a'], '*'), 'asking for * asks for everything')
  t.same(storedAbilities('["a"]'), ['a'])
  for (const text of [null, '', 'x', 'null', '{}', '"*"', '1']) t.same(storedAbilities(text), [])
})
