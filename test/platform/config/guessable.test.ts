// engine: none
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { stringify } from 'yaml'
import { entropyOf } from '../../../src/platform/config/guessable.ts'
import { problemsOf, SECRET } from './problems.ts'

/** Problems of the secrets of svc and of clients, in production or another environment. */
function complaints(secret: string | string[], client: object = {}, environment = 'production'): string[] {
  const text = stringify({
    app: { environment, secret },
    mail: { url: 'file:mails' },
    clients: [{ client_id: 'robot', type: 'confidential', grants: ['client_credentials'], secret: SECRET, ...client }],
  })
  return problemsOf(text).map(({ key, message }) => `${key}: ${message}`)
}

const hashOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

t.test('rejects published and placeholder secrets in production', async (t) => {
  for (const secret of [
    'a-string-secret-at-least-256-bits-long',
    'A-STRING-SECRET-AT-LEAST-256-BITS-LONG',
    'your-super-secret-jwt-token-with-at-least-32-characters-long',
    '404E635266556A586E3272357538782F413F4428472B4B6250645367566B5970',
    '404e635266556a586e3272357538782f413f4428472b4b6250645367566b5970',
    'SecretKey012345678901234567890123456789012345678901234567890123456789',
    'hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg',
    '255d861b-5ea1-5996-9aa3-922530ec40b1',
    'changemechangemechangemechangeme',
    'change-me-change-me-change-me-change-me',
    'CHANGE_ME_TO_SOMETHING_VERY_LONG_AND_RANDOM',
    'please-replace-this-with-a-long-random-value',
    'your-secret-here-your-secret-here-your-secret-here',
    'this is an example secret, do not use it in production',
    'secretsecretsecretsecretsecretsecret',
    'MySuperSecretPasswordForTheApplication2026',
    'django-insecure-example-secret-key-for-testing-1234',
    'correct-horse-battery-staple-0123456789',
    'the-secret-of-the-tests-is-32-bytes-long',
    'qwertyuiopasdfghjklzxcvbnmqwertyuiop',
  ]) {
    t.match(complaints(secret), [/^app\.secret: must be random, but this one .*openssl rand/], secret)
    t.strictSame(complaints(secret, {}, 'development'), [], `${secret} in development`)
  }
  t.match(complaints([SECRET, 'changeme'.repeat(4)]), [/^app\.secret\[1\]: /], 'an older secret too')
  t.notMatch(complaints('changeme'.repeat(4)).join(), 'changemechangeme', 'the message does not repeat it')
})

t.test('rejects secrets of repeated characters and sequences in production', async (t) => {
  for (const secret of [
    'a'.repeat(64),
    'ab'.repeat(32),
    'x7Kq'.repeat(16),
    '0123456789'.repeat(5),
    '0123456789abcdef0123456789abcdef',
    'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ',
    'zyxwvutsrqponmlkjihgfedcba9876543210',
    '11112222333344445555666677778888',
    '20261121'.repeat(4),
  ]) {
    t.match(complaints(secret), [/^app\.secret: must be random, but this one repeats characters/], secret)
  }
})

t.test('accepts every secret from a random generator', async (t) => {
  for (let i = 0; i < 200; i++) {
    for (const [encoding, bytes] of [
      ['base64', 24],
      ['base64', 32],
      ['base64url', 32],
      ['hex', 16],
      ['hex', 32],
    ] as const) {
      const secret = randomBytes(bytes).toString(encoding)
      if (complaints(secret, { secret }).length > 0) return t.fail(secret)
    }
  }
  t.pass('a thousand of them')
})

t.test('requires 32 bytes for a secret in every environment', async (t) => {
  const short = SECRET.slice(0, 31)
  const message = 'app.secret: must be at least 32 random bytes; create it with openssl rand -base64 32'
  for (const environment of ['development', 'production']) {
    t.strictSame(complaints(short, {}, environment), [message])
    t.strictSame(complaints(SECRET.slice(0, 32), {}, environment), [])
    t.strictSame(complaints(`${short.slice(0, 30)}é`, {}, environment), [], 'counts bytes instead of characters')
  }
})

t.test('requires 100 bits of entropy for svc and 64 for a client', async (t) => {
  // Each new hexadecimal digit is worth 4 bits; a repetition is worth one digit in total.
  const digits = '7c1e93a5f08b2d64e9c0a7182'
  t.equal(entropyOf(digits.slice(0, 16)), 64)
  t.equal(entropyOf(digits), 100)
  const padded = (length: number) => digits.slice(0, length) + digits.slice(0, length).slice(0, 32 - length)
  t.equal(entropyOf(padded(24)), 100)
  t.equal(entropyOf(padded(23)), 96)
  t.strictSame(complaints(padded(24)), [])
  t.match(complaints(padded(23)), [/^app\.secret: .*repeats characters/])
  t.strictSame(complaints(SECRET, { secret: digits.slice(0, 16) }), [])
  t.match(complaints(SECRET, { secret: digits.slice(0, 15) }), [/^clients\[0\]\.secret: .*too short/])
})

t.test('rejects guessable client secrets and their hashes in production', async (t) => {
  for (const secret of [
    'secret',
    'Password123',
    'client-secret',
    'my-client-secret-1234',
    'a-secret-for-trying-things-out',
    'gX1fBat3bV',
    '7Fjfp0ZBr1KtDRbnfVdmIw',
    'dragon',
    'short',
    'aaaaaaaaaaaaaaaaaaaaaaaa',
  ]) {
    t.match(complaints(SECRET, { secret }), [/^clients\[0\]\.secret: must be random, .*svc client:secret/], secret)
    t.strictSame(complaints(SECRET, { secret }, 'development'), [], `${secret} in development`)
  }
  for (const secret of ['secret', 'password123', 'dragon', 'a-secret-for-trying-things-out', 'gX1fBat3bV']) {
    const client = { secret: undefined, secret_hash: hashOf(secret) }
    t.match(
      complaints(SECRET, client),
      [/^clients\[0\]\.secret_hash: must not be the hash of a published secret/],
      secret,
    )
    t.strictSame(complaints(SECRET, client, 'development'), [])
  }
  t.strictSame(complaints(SECRET, { secret: undefined, secret_hash: hashOf(SECRET) }), [])
})
