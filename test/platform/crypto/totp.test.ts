// engine: none
import t from 'tap'
import { newSecret, otpauthUrl, stepOfCode } from '../../../src/auth/sign-in/totp.ts'
import { codeAt } from '../../support/totp.ts'

// RFC 6238 appendix B: the secret `12345678901234567890`, and the last six of the eight digits.
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const vectors = [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
] as const

t.test('matches the vectors of RFC 6238', async (t) => {
  for (const [seconds, code] of vectors) {
    const step = stepOfCode(code, { secret, now: seconds * 1000, window: 0, after: null })
    t.equal(step, Math.floor(seconds / 30), code)
    t.equal(stepOfCode(code, { secret, now: seconds * 1000, window: 0, after: step }), null, 'not again')
    t.equal(codeAt(secret, seconds * 1000), code)
  }
})

t.test('returns the step of a code, and accepts only six digits', async (t) => {
  const now = Date.UTC(2026, 0, 1)
  const step = now / 30_000
  for (const steps of [-1, 0, 1]) {
    t.equal(stepOfCode(codeAt(secret, now, steps), { secret, now, window: 1, after: null }), step + steps)
  }
  const code = codeAt(secret, now)
  t.equal(stepOfCode(codeAt(secret, now, -1), { secret, now, window: 1, after: step }), null, 'earlier than the last')
  t.equal(stepOfCode(code, { secret, now, window: 1, after: step + 9 }), null, 'a clock that was set back')
  t.equal(stepOfCode(` ${code.slice(0, 3)} ${code.slice(3)}\n`, { secret, now, window: 0, after: null }), step)
  for (const odd of [
    '',
    code.slice(1),
    `${code}0`,
    `+${code.slice(1)}`,
    `${code.slice(0, 5)}٣`,
    'abcdef',
    '1e5',
    `-${code}`,
  ]) {
    t.equal(stepOfCode(odd, { secret, now, window: 10, after: null }), null, JSON.stringify(odd))
  }
})

t.test('makes secrets of 160 bits in base32, and an address that names issuer and account once', async (t) => {
  t.match(newSecret(), /^[A-Z2-7]{32}$/)
  t.not(newSecret(), newSecret())
  const url = new URL(otpauthUrl('A:B & C', 'ä+b@example.com', secret))
  t.equal(url.searchParams.get('issuer'), 'A B & C')
  t.equal(url.searchParams.get('secret'), secret)
  t.match(decodeURIComponent(url.pathname), /A B & C:ä\+b@example\.com$/)
})
