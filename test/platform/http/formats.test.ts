// engine: none
import t from 'tap'
import {
  foldAddress,
  isDate,
  isEmail,
  isName,
  isVisible,
  millisecondsOf,
  withoutControls,
} from '../../../src/platform/http/formats.ts'

t.test('validates addresses by RFC 5322', async (t) => {
  const good = [
    'a@b',
    'a@localhost',
    'a.b+c@d.example',
    "o'hara!#$%&*/=?^_`{|}~-@x.y",
    '"a b@c"@d.example',
    '"\\""@d.e',
  ]
  for (const text of [...good, 'ü@bücher.example', `${'a'.repeat(64)}@${'b'.repeat(63)}.c`, '1@1.2.3.4']) {
    t.ok(isEmail(text), text)
  }
  const bad = [
    '',
    '@',
    'a',
    'a@',
    '@b',
    'a b@c',
    'a@b c',
    'a@@b',
    'a@b@c',
    '.a@b',
    'a.@b',
    'a..b@c',
    'a@.b',
    'a@b.',
    'a@-b',
  ]
  const injected = [
    'a@b\n',
    'a\r\nBcc: x@y',
    '"a\n"@b',
    'a@b\0',
    'a@b-',
    'a@b_c',
    '(x)a@b',
    'a,b@c',
    '<a@b>',
    'a@[::1',
    '""@b',
    '" a"@b',
    '"a "@b',
    '"<a"@b',
    '"a\\>"@b',
  ]
  // Stored, these would be `a,b@c`, `a@b@c` and longer than any address.
  const disguised = [
    'ⓣest@d.example',
    'ſmith@c',
    'a，b@c',
    'a＠b@c',
    'a\u037eb@c',
    'a\u00a0b@c',
    `${'㎨'.repeat(120)}@c`,
  ]
  for (const text of [...bad, ...injected, ...disguised, `a@${'b'.repeat(64)}`, `${'a'.repeat(250)}@b.example`]) {
    t.notOk(isEmail(text), JSON.stringify(text))
  }
})

t.test('folds a folded address to itself', async (t) => {
  const marks = ['', '\u0301', '\u0316', '\u0327', '\u0345', '\u0345\u0316']
  const changed: string[] = []
  for (let code = 0x20; code < 0x20000; code++) {
    for (const mark of marks) {
      const folded = foldAddress(`a${String.fromCodePoint(code)}${mark}@b`)
      if (foldAddress(folded) !== folded) changed.push(`${code.toString(16)} ${escape(mark)}`)
    }
  }
  t.same(changed, [])
})

t.test('limits addresses to 255 characters, and each domain label to 63', async (t) => {
  const domain = (length: number) => `${'b'.repeat(63)}.`.repeat(4).slice(0, length)
  const ofLength = (length: number) => `${'a'.repeat(length - 201)}@${domain(199)}.`.slice(0, length - 1).concat('c')
  t.equal(ofLength(255).length, 255)
  t.equal(isEmail(ofLength(255)), true)
  t.equal(isEmail(ofLength(256)), false)
  t.equal(isEmail(`a@${'b'.repeat(63)}`), true)
  t.equal(isEmail(`a@${'b'.repeat(64)}`), false)
  for (const text of ['a\u200bb@c', 'a\u202eb@c', 'a@b\u00adc', '"a\u200bb"@c', '"a\u202e"@c']) {
    t.equal(isEmail(text), false, JSON.stringify(text))
  }
})

// Catastrophic backtracking would never finish on these.
t.test('validates every text quickly', async (t) => {
  for (const part of ['a', 'a.', '-', '"', '\\', '@', 'ü', '"\\"']) {
    t.notOk(isEmail(`${part.repeat(50_000)}@b`))
    t.notOk(isEmail(`"${part.repeat(120)}@b`))
    t.notOk(isEmail(`a@${part.repeat(120)}!`))
    t.notOk(isDate(part.repeat(50_000)))
  }
  t.notOk(isDate(`2026-01-01T00:00:00.${'0'.repeat(50_000)}`))
})

t.test('accepts existing dates and times, in UTC by default', async (t) => {
  for (const [text, iso] of [
    ['2026-12-31', '2026-12-31T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2000-02-29T23:59', '2000-02-29T23:59:00.000Z'],
    ['2026-06-01 12:00:00', '2026-06-01T12:00:00.000Z'],
    ['2026-06-01t12:00:00.5z', '2026-06-01T12:00:00.500Z'],
    ['2026-06-01T12:00:00.123456789+01:30', '2026-06-01T10:30:00.123Z'],
    ['2026-06-01T12:00:00-0800', '2026-06-01T20:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ] as const) {
    t.ok(isDate(text), text)
    t.equal(new Date(millisecondsOf(text)).toISOString(), iso)
  }
  const days = [
    '2026-02-29',
    '1900-02-29',
    '2026-04-31',
    '2026-00-10',
    '2026-01-00',
    '2026-13-01',
    '2026-1-1',
    '26-01-01',
  ]
  const times = ['2026-01-01T', '2026-01-01T24:01Z', '2026-01-01T12', '2026-01-01T12:60Z', '2026-01-01T12:00:61Z']
  const others = [
    '',
    'now',
    '+1 day',
    '2026',
    '2026-01',
    '20260101',
    '1795000000',
    '2026-W01-1',
    '2026-01-01\n',
    '٢٠٢٦-٠١-٠١',
  ]
  for (const text of [...days, ...times, ...others, '9999-12-31T23:59:59-01:00', '2026-01-01T12:00:00+24:00']) {
    t.notOk(isDate(text), text)
  }
})

t.test('accepts names in all scripts, and no invisible characters', async (t) => {
  const names = [
    'Ada',
    'میلاد\u200cنیا',
    'क्\u200dष',
    '王',
    'Ana María',
    '👩\u200d💻',
    '🏴\u{e0067}\u{e0062}\u{e007f}',
    'O’Hara',
  ]
  for (const name of names) t.ok(isName(name), name)
  const invisible = ['\u200b', '\u2060', '\ufeff', '\u00ad', '\u180e', '\u202e', '\u2063', '\n', '\0']
  for (const character of invisible) {
    const name = `A${character}da`
    t.notOk(isName(name), JSON.stringify(name))
    t.equal(withoutControls(name), 'Ada')
  }
  for (const blank of ['\u200d', '\u3164', '\u2800', '\u115f\u1160', '\u200c \u200d', '\u0301']) {
    t.notOk(isName(blank), JSON.stringify(blank))
    t.notOk(isVisible(blank))
  }
})

t.test('accepts dates that both databases can compare', async (t) => {
  for (const text of ['0001-01-01', '2024-02-29T12:00:00+02:00', '9999-12-31']) t.ok(isDate(text), text)
  for (const text of ['0000-01-01', '0000-12-31T23:59:59Z', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00']) {
    t.notOk(isDate(text), text)
  }
})
