// engine: none
import t from 'tap'
import { answerReader } from '../../../src/features/decision-hooks/answer.ts'

const ofToken = answerReader('before_token', ['tier', 'regions'])
const ofSignIn = answerReader('before_sign_in', [])
const allowed = { claims: {}, requiresSecondFactor: false }
const text = (value: unknown) => JSON.stringify(value)

t.test('reads what a hook may answer', async (t) => {
  for (const read of [ofToken, ofSignIn]) {
    t.strictSame(read(200, '{}'), allowed)
    t.strictSame(read(204, ''), allowed)
    t.strictSame(read(200, '{"deny": null}'), allowed)
    t.strictSame(read(200, '{"deny": false}'), allowed)
  }
  const claims = { tier: 'gold', regions: ['eu'] }
  t.strictSame(ofToken(200, text({ claims })), { ...allowed, claims })
  t.strictSame(ofSignIn(200, text({ require: 'second_factor' })), { ...allowed, requiresSecondFactor: true })
})

t.test('counts every refusal, however it is written', async (t) => {
  const refusals: [unknown, string | null][] = [
    [{ deny: { message: 'No.' } }, 'No.'],
    [{ deny: {} }, null],
    [{ deny: true }, null],
    [{ deny: 'no' }, null],
    [{ deny: [] }, null],
    [{ deny: 0 }, null],
    [{ deny: { message: 7 } }, null],
    [{ deny: { message: ' \n ' } }, null],
    [{ deny: { message: 'No.' }, unknown: 1, claims: { sub: '1' } }, 'No.'],
    [{ deny: { message: 'a\r\nb\u2028c\0d' } }, 'a b c d'],
    [{ deny: { message: '字'.repeat(400) } }, '字'.repeat(300)],
  ]
  for (const status of [403, 500, 302]) {
    t.strictSame(ofSignIn(status, '{"deny": {"message": "No."}}'), { deny: { message: 'No.' } })
    t.match(ofSignIn(status, '{"require": "second_factor", "more": 1}'), { requiresSecondFactor: true })
  }
  for (const [index, [answer, message]] of refusals.entries()) {
    t.strictSame(ofToken(200, text(answer)), { deny: { message } }, `answer ${index}`)
  }
})

t.test('accepts no other answer', async (t) => {
  const wrong: [typeof ofToken, number, string, RegExp][] = [
    [ofToken, 500, '{}', /answered 500/],
    [ofToken, 302, '{}', /answered 302/],
    [ofToken, 200, '', /not JSON/],
    [ofToken, 200, '<html>', /not JSON/],
    [ofToken, 200, 'null', /must be object/],
    [ofToken, 200, '[]', /must be object/],
    [ofToken, 200, '"deny"', /must be object/],
    [ofToken, 200, '{"denied": true}', /additional properties \(denied\)/],
    [ofToken, 200, '{"require": "second_factor"}', /\(require\)/],
    [ofToken, 200, '{"claims": "tier"}', /claims must be object/],
    [ofToken, 200, '{"claims": {"sub": "1"}}', /claims .*\(sub\)/],
    [ofToken, 200, '{"claims": {"__proto__": {"tier": "gold"}}}', /__proto__/],
    [ofToken, 200, '{"claims": {"tier": {"a": 1}}}', /claims\.tier/],
    [ofToken, 200, '{"claims": {"tier": null}}', /claims\.tier/],
    [ofToken, 200, '{"claims": {"regions": [1]}}', /claims\.regions/],
    [ofToken, 200, text({ claims: { tier: 'x'.repeat(3_000) } }), /larger than 2048 bytes/],
    [ofToken, 200, text({ claims: { tier: '字'.repeat(1_000) } }), /larger than 2048 bytes/],
    [ofToken, 200, '{"claims": {"tier": 1e999}}', /claims.tier/],
    [ofSignIn, 200, '{"claims": {}}', /\(claims\)/],
    [ofSignIn, 200, '{"require": "captcha"}', /require/],
  ]
  for (const [read, status, body, message] of wrong)
    t.throws(() => read(status, body), { message }, `${status} ${body.slice(0, 60)}`)
})
