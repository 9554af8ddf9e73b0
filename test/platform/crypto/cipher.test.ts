// engine: none
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Cipher } from '../../../src/platform/crypto/cipher.ts'
import { deriveCipher } from '../../../src/platform/crypto/keys.ts'

const [first, second] = [randomBytes(32), randomBytes(32)]
const text = 'a secret with ümlauts'

t.test('decrypts only with the same key and context', async (t) => {
  const cipher = new Cipher([first])
  const encrypted = cipher.encrypt(text, 'user 1')
  t.match(encrypted, /^[\w-]+$/)
  t.not(encrypted, cipher.encrypt(text, 'user 1'), 'each call uses its own nonce')
  t.equal(cipher.decrypt(encrypted, 'user 1'), text)
  t.equal(cipher.decrypt(encrypted, 'user 2'), null)
  t.equal(new Cipher([second]).decrypt(encrypted, 'user 1'), null)
  t.equal(cipher.decrypt(cipher.encrypt('', 'x'), 'x'), '')
  t.throws(() => new Cipher([]).encrypt(text, 'x'), { message: 'A cipher needs a key.' })
})

t.test('encrypts with the first key and decrypts with all', async (t) => {
  const old = new Cipher([first]).encrypt(text, 'x')
  const rotated = new Cipher([second, first])
  t.equal(rotated.decrypt(old, 'x'), text)
  t.equal(new Cipher([second]).decrypt(rotated.encrypt(text, 'x'), 'x'), text)
})

t.test('detects every changed bit and missing byte', async (t) => {
  const cipher = new Cipher([first])
  const bytes = Buffer.from(cipher.encrypt(text, 'x'), 'base64url')
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes)
    changed[i] = (changed[i] ?? 0) ^ 1
    t.equal(cipher.decrypt(changed.toString('base64url'), 'x'), null, `byte ${i}`)
    t.equal(cipher.decrypt(bytes.subarray(0, i).toString('base64url'), 'x'), null, `${i} bytes`)
  }
  t.equal(cipher.decrypt('no base64url!', 'x'), null)
})

t.test('derives a different key for each purpose', async (t) => {
  const secret = ['a secret of the configuration, long enough']
  const encrypted = deriveCipher(secret, 'two-factor').encrypt(text, 'x')
  t.equal(deriveCipher(secret, 'outbox').decrypt(encrypted, 'x'), null)
  t.equal(deriveCipher(secret, 'two-factor').decrypt(encrypted, 'x'), text)
})
